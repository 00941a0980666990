#include "npyfs/base/text.h"

#include <gtest/gtest.h>

namespace npyfs {
namespace {

using namespace std::string_view_literals;

TEST(Utf8Test, TellsTheLengthOfASequence) {
  EXPECT_EQ(utf8_sequence_length("a"), 1U);
  EXPECT_EQ(utf8_sequence_length("\0"sv), 1U);
  EXPECT_EQ(utf8_sequence_length("ü!"), 2U);
  EXPECT_EQ(utf8_sequence_length("中"), 3U);
  EXPECT_EQ(utf8_sequence_length("🐢"), 4U);
  EXPECT_EQ(utf8_sequence_length("\xF4\x8F\xBF\xBF"), 4U) << "U+10FFFF";
  EXPECT_EQ(utf8_sequence_length(""), 0U);
}

TEST(Utf8Test, RefusesWhatRfc3629DoesNotHave) {
  for (const std::string_view bytes :
       {"\x80"sv, "\xC0\xAF"sv, "\xC1\x81"sv, "\xE0\x9F\xBF"sv, "\xF0\x8F\xBF\xBF"sv,
        "\xED\xA0\x80"sv, "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFF"sv, "\xC3"sv,
        "\xE4\xB8"sv, "\xC3("sv, "\xF0\x9F\x90("sv}) {
    EXPECT_EQ(utf8_sequence_length(bytes), 0U) << escape_invalid_utf8(bytes);
    EXPECT_FALSE(is_utf8("ok" + std::string(bytes)));
  }
}

TEST(Utf8Test, EscapesOnlyTheBytesThatAreNone) {
  EXPECT_EQ(escape_invalid_utf8("ü\xFFx\xE4\xB8"), "ü%FFx%E4%B8");
  EXPECT_EQ(escape_invalid_utf8("100%41"), "100%41");
  EXPECT_EQ(escape_invalid_utf8(""), "");
}

// The right-hand sides are Python's bytes.decode('cp437').
TEST(Cp437Test, IsThePublishedTable) {
  EXPECT_EQ(cp437_to_utf8("caf\x82"), "café");
  EXPECT_EQ(cp437_to_utf8("\x9b\x9e\xa9\xb0\xdb\xe0\xe1\xe6\xea\xec\xf0\xfe\xff"),
            "\u00a2\u20a7\u2310\u2591\u2588\u03b1\u00df\u00b5\u03a9\u221e\u2261\u25a0\u00a0");
  EXPECT_EQ(cp437_to_utf8("\x80\xe3\xe4\xe8\xed\xee\xef\xfc\xfd"),
            "\u00c7\u03c0\u03a3\u03a6\u03c6\u03b5\u2229\u207f\u00b2");
  EXPECT_EQ(cp437_to_utf8("plain\x7f\x01"), "plain\x7f\x01");
}

TEST(Cp437Test, GivesUtf8ForAnyByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_TRUE(is_utf8(cp437_to_utf8(text))) << byte;
  }
}

// From FIPS 180-4's examples.
TEST(Sha256Test, GivesTheFirstDigits) {
  EXPECT_EQ(sha256_hex("abc", 64),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abc", 16), "ba7816bf8f01cfea");
  EXPECT_EQ(sha256_hex("abc", 15), "ba7816bf8f01cfe");
  EXPECT_EQ(sha256_hex("", 1000).size(), 64U);
}

TEST(PercentTest, HasTwoUpperCaseDigits) {
  std::string out = "x";
  append_percent(out, 0x0A);
  append_percent(out, 0xFE);
  EXPECT_EQ(out, "x%0A%FE");
}

}  // namespace
}  // namespace npyfs
