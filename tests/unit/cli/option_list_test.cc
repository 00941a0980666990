#include "cli/option_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/usage.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

ListedOption flag(std::string name) { return {std::move(name), std::nullopt}; }
ListedOption option(std::string name, std::string value) {
  return {std::move(name), std::move(value)};
}

TEST(OptionListTest, TakesOptionsApartAtCommas) {
  EXPECT_THAT(parse_option_list("ro,allow_other,views=npy:raw"),
              ElementsAre(flag("ro"), flag("allow_other"), option("views", "npy:raw")));
}

TEST(OptionListTest, PassesOverEmptyOptions) {
  EXPECT_THAT(parse_option_list(""), IsEmpty());
  EXPECT_THAT(parse_option_list(",,ro,"), ElementsAre(flag("ro")));
}

TEST(OptionListTest, KeepsAnEscapedCommaInTheValue) {
  EXPECT_THAT(parse_option_list(R"(fsname=a\,b,ro)"),
              ElementsAre(option("fsname", "a,b"), flag("ro")));
}

TEST(OptionListTest, TakesTwoBackslashesForOne) {
  EXPECT_THAT(parse_option_list(R"(fsname=a\\,ro)"),
              ElementsAre(option("fsname", R"(a\)"), flag("ro")));
}

TEST(OptionListTest, LeavesOtherBackslashesToGlobs) {
  EXPECT_THAT(parse_option_list(R"(dtype=\*=int4)"), ElementsAre(option("dtype", R"(\*=int4)")));
}

TEST(OptionListTest, KeepsCommasInDoubleQuotes) {
  EXPECT_THAT(parse_option_list(R"(comment="a,b",ro)"),
              ElementsAre(option("comment", "a,b"), flag("ro")));
}

TEST(OptionListTest, TakesAQuoteInsideAValueForItself) {
  EXPECT_THAT(parse_option_list(R"(fsname=a"b)"), ElementsAre(option("fsname", R"(a"b)")));
}

TEST(OptionListTest, SplitsAtTheFirstEqualsSign) {
  EXPECT_THAT(parse_option_list("dtype=*.w=bfloat16"),
              ElementsAre(option("dtype", "*.w=bfloat16")));
  EXPECT_THAT(parse_option_list("views="), ElementsAre(option("views", "")));
}

TEST(OptionListTest, RefusesAnOpenQuote) {
  EXPECT_THAT([] { parse_option_list(R"(comment="a,ro)"); },
              ThrowsMessage<UsageError>(HasSubstr("isn't closed")));
}

TEST(OptionListTest, RefusesAValueWithoutAName) {
  EXPECT_THAT([] { parse_option_list("ro,=5"); }, ThrowsMessage<UsageError>(HasSubstr("no name")));
}

TEST(OptionListTest, SplitsListsAtColonsThatArentEscaped) {
  EXPECT_THAT(split_value("a:b"), ElementsAre("a", "b"));
  EXPECT_THAT(split_value(R"(a\:b:c)"), ElementsAre("a:b", "c"));
  EXPECT_THAT(split_value(""), ElementsAre(""));
}

}  // namespace
}  // namespace npyfs
