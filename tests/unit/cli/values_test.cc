#include "cli/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/log.h"
#include "cli/usage.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ValuesTest, ReadsSizesWithAndWithoutUnits) {
  EXPECT_EQ(parse_size("--cache-size", "4096"), 4096U);
  EXPECT_EQ(parse_size("--cache-size", "64K"), 64U << 10);
  EXPECT_EQ(parse_size("--cache-size", "256m"), 256U << 20);
  EXPECT_EQ(parse_size("--cache-size", "2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("--cache-size", "1TB"), std::uint64_t{1} << 40);
  EXPECT_EQ(parse_size("--cache-size", "7B"), 7U);
}

TEST(ValuesTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "M", "-1", "1.5G", "1X", "1KK", " 1", "99999999999999999999",
                           "18446744073709551615K"}) {
    EXPECT_THAT([&] { parse_size("--cache-size", text); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("--cache-size"), HasSubstr("64M"))))
        << text;
  }
}

TEST(ValuesTest, RefusesNumbersOutOfTheirRange) {
  EXPECT_EQ(parse_number("--threads", "8", 1, 256), 8U);
  for (const char* text : {"0", "257", "8x", ""}) {
    EXPECT_THAT([&] { parse_number("--threads", text, 1, 256); },
                ThrowsMessage<UsageError>(HasSubstr("from 1 to 256")))
        << text;
  }
}

TEST(ValuesTest, ReadsAMaskAsOctal) {
  EXPECT_EQ(parse_umask("-o umask", "022"), 022U);
  EXPECT_EQ(parse_umask("-o umask", "77"), 077U);
  EXPECT_THROW(parse_umask("-o umask", "8"), UsageError);
  EXPECT_THROW(parse_umask("-o umask", "1000"), UsageError);
}

TEST(ValuesTest, ReadsListsOfViewsWithCommasOrColons) {
  const ViewSet expected = {true, true, false, false, false, false};
  EXPECT_EQ(parse_views("--views", "npy,raw"), expected);
  EXPECT_EQ(parse_views("--views", "raw:npy"), expected);
  EXPECT_EQ(parse_views("--views", "all"), (ViewSet{true, true, true, true, true, true}));
}

TEST(ValuesTest, NamesTheViewItDoesntKnow) {
  EXPECT_THAT([] { parse_views("--views", "npy:row"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("'row'"), HasSubstr("npy:raw"))));
  EXPECT_THROW(parse_views("--views", ""), UsageError);
}

TEST(ValuesTest, SplitsAtOneCharacterOnly) {
  EXPECT_EQ(parse_split("--split", "."), '.');
  EXPECT_THROW(parse_split("--split", ""), UsageError);
  EXPECT_THROW(parse_split("--split", "::"), UsageError);
  EXPECT_THROW(parse_split("--split", "\n"), UsageError);
}

TEST(ValuesTest, SplitsATypeRuleAtTheLastEqualsSign) {
  const TypeRule rule = parse_type_rule("--dtype", "a=b*=float8_e4m3fn");
  EXPECT_EQ(rule.glob, "a=b*");
  EXPECT_EQ(rule.type, "float8_e4m3fn");
}

TEST(ValuesTest, SuggestsTypesForOneThatDoesntExist) {
  EXPECT_THAT([] { parse_type_rule("--dtype", "*=float8_e4m3f"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("--dtype"), HasSubstr("float8_e4m3fn"))));
}

TEST(ValuesTest, RefusesARuleWithoutGlobOrType) {
  for (const char* text : {"bfloat16", "=bfloat16", "*=", ""}) {
    EXPECT_THAT([&] { parse_type_rule("--dtype", text); },
                ThrowsMessage<UsageError>(HasSubstr("GLOB=TYPE")))
        << text;
  }
}

TEST(ValuesTest, KnowsLogLevels) {
  EXPECT_EQ(parse_log_level("--log-level", "debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("--log-level", "warning"), LogLevel::kWarn);
  EXPECT_THAT([] { parse_log_level("--log-level", "loud"); },
              ThrowsMessage<UsageError>(HasSubstr("trace, debug")));
}

}  // namespace
}  // namespace npyfs
