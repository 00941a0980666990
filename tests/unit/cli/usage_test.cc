#include "cli/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(UsageTest, FindsTheWordThatASlipMeant) {
  EXPECT_THAT(nearest("allow_othr", {"allow_other", "ro", "umask"}), ElementsAre("allow_other"));
}

TEST(UsageTest, FindsWordsThatGoOn) {
  EXPECT_THAT(nearest("float8", {"float8_e5m2", "float32", "int8"}), ElementsAre("float8_e5m2"));
}

TEST(UsageTest, SuggestsAtMostThreeAndTheNearestFirst) {
  EXPECT_THAT(nearest("abcd", {"abce1", "abcf", "abcd1", "abcd", "abcg"}),
              ElementsAre("abcd", "abcf", "abcd1"));
}

TEST(UsageTest, SuggestsNothingForAWordFarFromAll) {
  EXPECT_THAT(nearest("zzzz", {"ro", "umask"}), IsEmpty());
  EXPECT_EQ(did_you_mean("zzzz", {"ro"}), "");
}

TEST(UsageTest, AsksAsASentence) { EXPECT_EQ(did_you_mean("rw2", {"rw"}), "; did you mean rw?"); }

}  // namespace
}  // namespace npyfs
