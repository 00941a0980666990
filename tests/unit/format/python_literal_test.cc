#include "format/python_literal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

LiteralReader reader(std::string_view text, TextEncoding encoding = TextEncoding::kLatin1) {
  return LiteralReader(text, encoding, "text");
}

std::string string_of(std::string_view text, TextEncoding encoding = TextEncoding::kLatin1) {
  return reader(text, encoding).string();
}

std::uint64_t integer_of(std::string_view text) { return reader(text).integer(); }

TEST(PythonLiteralTest, ReadsStringsOfEitherQuote) {
  EXPECT_EQ(string_of("'descr'"), "descr");
  EXPECT_EQ(string_of("\"it's\""), "it's");
  EXPECT_EQ(string_of("''"), "");
}

TEST(PythonLiteralTest, JoinsAdjacentStrings) {
  EXPECT_EQ(string_of("'<f' \"4\"\n'x'"), "<f4x");
  EXPECT_EQ(string_of("'''abc'''"), "abc");
}

TEST(PythonLiteralTest, KnowsStringPrefixes) {
  EXPECT_EQ(string_of("u'a' U'b' r'\\n' R\"\\'\" bR'c'"), "ab\\n\\'c");
  LiteralReader bytes = reader("b'<f4'");
  EXPECT_EQ(bytes.string(), "<f4");
  EXPECT_TRUE(bytes.saw_bytes_literal());
}

TEST(PythonLiteralTest, ReadsEscapes) {
  EXPECT_EQ(string_of(R"('\\\'\"\n\r\t\x41\101\u4e2d\U0001D6FC\q')"),
            "\\'\"\n\r\tAA中\xF0\x9D\x9B\xBC\\q");
  EXPECT_EQ(string_of("'a\\\nb'"), "ab");
  EXPECT_EQ(string_of(R"('\0')"), std::string(1, '\0'));
}

TEST(PythonLiteralTest, KeepsALoneSurrogateInItsThreeBytes) {
  EXPECT_EQ(string_of(R"('\ud800')"), "\xED\xA0\x80");
}

TEST(PythonLiteralTest, RefusesEscapesThatAreNoCharacter) {
  EXPECT_THROW(string_of(R"('\x4')"), Error);
  EXPECT_THROW(string_of(R"('\U00110000')"), Error);
}

TEST(PythonLiteralTest, TurnsLatin1IntoUtf8) {
  EXPECT_EQ(string_of("'\xFC'"), "ü");
  EXPECT_EQ(string_of("'ü'", TextEncoding::kUtf8), "ü");
}

TEST(PythonLiteralTest, RefusesAnOpenString) {
  for (const char* text : {"'abc", "'abc\n'", "'abc\\", "'", "u", "'abc\\'"}) {
    EXPECT_THROW(string_of(text), Error) << text;
  }
}

TEST(PythonLiteralTest, ReadsIntegersOfPython2And3) {
  EXPECT_EQ(integer_of("0"), 0U);
  EXPECT_EQ(integer_of(" +12L,"), 12U);
  EXPECT_EQ(integer_of("3l)"), 3U);
  EXPECT_EQ(integer_of("1_000"), 1000U);
  EXPECT_EQ(integer_of("0x1F"), 31U);
  EXPECT_EQ(integer_of("0o17"), 15U);
  EXPECT_EQ(integer_of("0B101"), 5U);
  EXPECT_EQ(integer_of("9223372036854775807"), 9223372036854775807U);
}

TEST(PythonLiteralTest, RefusesWhatIsNoIntegerOfOurs) {
  for (const char* text : {"", "-1", "3.5", "3.", "1e5", "True", "'3'", "1__0", "1_", "0x", "0b2",
                           "9223372036854775808", "99999999999999999999", "12LL", "3x"}) {
    EXPECT_THROW(integer_of(text), Error) << text;
  }
}

TEST(PythonLiteralTest, ReadsBooleans) {
  EXPECT_TRUE(reader(" True,").boolean());
  EXPECT_FALSE(reader("False}").boolean());
  for (const char* text : {"true", "1", "Truest", "", "None"}) {
    EXPECT_THROW(reader(text).boolean(), Error) << text;
  }
}

TEST(PythonLiteralTest, SkipsBlanksAndComments) {
  LiteralReader in = reader(" \t\r\n\f# a comment, {\n{ # and one at the end");
  in.expect('{');
  in.end();
}

TEST(PythonLiteralTest, CountsNulsAtTheEnd) {
  LiteralReader in = reader(std::string_view(" \0\0 \0\n", 6));
  in.end();
  EXPECT_EQ(in.nul_count(), 3U);
}

TEST(PythonLiteralTest, SaysWhatWasExpectedAndWhere) {
  EXPECT_THAT([] { reader("  x").expect('{'); },
              ThrowsMessage<Error>("'{' expected, 'x' found at byte 2 of the text"));
  EXPECT_THAT([] { reader("").expect('{'); }, ThrowsMessage<Error>(HasSubstr("ends where '{'")));
  EXPECT_THAT([] { reader("\x80").end(); }, ThrowsMessage<Error>(HasSubstr("byte 128 found")));
}

std::string repr(std::string_view text) {
  std::string out;
  append_python_string(out, text);
  return out;
}

TEST(PythonLiteralTest, WritesStringsAsReprDoes) {
  EXPECT_EQ(repr("<f4"), "'<f4'");
  EXPECT_EQ(repr("it's"), "\"it's\"");
  EXPECT_EQ(repr("both'\""), "'both\\'\"'");
  EXPECT_EQ(repr("\t\n\\\x01\x7F"), "'\\t\\n\\\\\\x01\\x7f'");
  EXPECT_EQ(repr("ü\xC2\x85\xC2\xAD中"), "'ü\\x85\\xad中'");
  EXPECT_EQ(repr("\xED\xA0\x80"), "'\\ud800'");
}

TEST(PythonLiteralTest, WhatIsWrittenReadsBack) {
  for (const char* text : {"", "it's", "both'\"", "\t\n\\", "ü\xC2\x85", "\xED\xB2\x80", "中"}) {
    EXPECT_EQ(string_of(repr(text), TextEncoding::kUtf8), text);
  }
}

}  // namespace
}  // namespace npyfs
