#include "npyfs/format/json_text.h"

#include <gtest/gtest.h>

namespace npyfs {
namespace {

using namespace std::string_view_literals;

TEST(JsonTextTest, QuotesPlainText) {
  EXPECT_EQ(json_quote(""), "\"\"");
  EXPECT_EQ(json_quote("layer.0/W_q"), "\"layer.0/W_q\"");
}

TEST(JsonTextTest, EscapesQuotesBackslashesAndControls) {
  EXPECT_EQ(json_quote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_quote("\n\r\t\x01\x1f\x7f\0"sv), R"("\n\r\t\u0001\u001f\u007f\u0000")");
}

TEST(JsonTextTest, KeepsUtf8AndShowsOtherBytesAsPercent) {
  EXPECT_EQ(json_quote("ü中\xF0\x9D\x9B\xBC"), "\"ü中\xF0\x9D\x9B\xBC\"");
  EXPECT_EQ(json_quote("a\xFFz\xC3"), "\"a%FFz%C3\"");
  EXPECT_EQ(json_quote("\xED\xA0\x80"), "\"%ED%A0%80\"");
}

TEST(JsonTextTest, AppendsToWhatIsThere) {
  std::string out = "{";
  append_json_string(out, "key");
  EXPECT_EQ(out, "{\"key\"");
}

}  // namespace
}  // namespace npyfs
