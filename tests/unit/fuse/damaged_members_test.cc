#include "fuse/damaged_members.h"

#include <gtest/gtest.h>

namespace npyfs {
namespace {

TEST(DamagedMembersTest, TellsWhatWasFoundSinceAMoment) {
  DamagedMembers members;
  const std::uint64_t before = members.now();
  EXPECT_FALSE(members.found_since(7, before));
  members.add(7);
  const std::uint64_t between = members.now();
  members.add(8);
  EXPECT_TRUE(members.found_since(7, before));
  EXPECT_FALSE(members.found_since(7, between));
  EXPECT_TRUE(members.found_since(8, between));
  EXPECT_FALSE(members.found_since(9, before));
  EXPECT_FALSE(members.found_since(std::nullopt, before));
  members.add(7);
  EXPECT_TRUE(members.found_since(7, between)) << "another fault of it";
}

}  // namespace
}  // namespace npyfs
