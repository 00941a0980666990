#include "cli/text.h"

#include <gtest/gtest.h>

namespace npyfs {
namespace {

TEST(CliTextTest, WritesSizesForPeople) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(1023), "1023 B");
  EXPECT_EQ(human_size(1024), "1.0 KiB");
  EXPECT_EQ(human_size(154389504), "147.2 MiB");
  EXPECT_EQ(human_size(~std::uint64_t{0}), "16.0 EiB");
}

TEST(CliTextTest, NeverRoundsUpTo1024OfAUnit) {
  EXPECT_EQ(human_size((std::uint64_t{1} << 20) - 1), "1.0 MiB");
}

TEST(CliTextTest, GroupsDigitsByThree) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(38597376), "38,597,376");
}

TEST(CliTextTest, CountsInSingularAndPlural) {
  EXPECT_EQ(counted(1, "array"), "1 array");
  EXPECT_EQ(counted(0, "array"), "0 arrays");
}

TEST(CliTextTest, MakesControlBytesHarmless) {
  EXPECT_EQ(printable("a\nb\x1b[2J"), "a%0Ab%1B[2J");
  EXPECT_EQ(printable("größe"), "größe");
}

TEST(CliTextTest, CountsCharactersAndNotBytes) { EXPECT_EQ(width_of("größe"), 5U); }

TEST(CliTextTest, NamesThePlaceOfAFailureOnce) {
  const std::string expected = "d/w.npz: a.npy: broken";
  EXPECT_EQ(located("d/w.npz", "a.npy", "broken"), expected);
  EXPECT_EQ(located("d/w.npz", "a.npy", "a.npy: broken"), expected);
  EXPECT_EQ(located("d/w.npz", "a.npy", "w.npz: a.npy: broken"), expected);
  EXPECT_EQ(located("d/w.npz", "a.npy", "d/w.npz: a.npy: broken"), expected);
  EXPECT_EQ(located("d/ck/", "", "ck: x: broken"), "d/ck/: x: broken");
}

}  // namespace
}  // namespace npyfs
