#include "npyfs/source/byte_text.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

using namespace std::string_literals;

std::string all_of(const std::string& text, ByteForm form, std::uint64_t size) {
  const SourcePtr source = byte_text(memory(text), form, size);
  return std::string(text_view(read_bytes(*source, 0, source->size())));
}

TEST(ByteTextTest, DecodesEveryForm) {
  EXPECT_EQ(all_of("\xC3\xBF"
                   "a\xC2\x80\0"s,
                   ByteForm::kUtf8, 4),
            "\xFF"
            "a\x80\0"s);
  EXPECT_EQ(all_of("a\\u005c\\u000a\xFF\\x", ByteForm::kUnicodeEscape, 6), "a\\\n\xFF\\x");
  EXPECT_EQ(all_of("\\U000000e9", ByteForm::kUnicodeEscape, 1), "\xE9");
  EXPECT_EQ(all_of("\\x00\\xfFa\\n\\t\\r\\\\\\'\\\"", ByteForm::kStringEscape, 9),
            "\0\xFF"
            "a\n\t\r\\'\""s);
  EXPECT_EQ(all_of("\\7\\07\\007\\0078\\q", ByteForm::kStringEscape, 7),
            "\7\7\7\7"
            "8\\q");
  EXPECT_EQ(all_of("raw\xFF", ByteForm::kRaw, 4), "raw\xFF");
}

TEST(ByteTextTest, AnyRangeIsThatOfTheWhole) {
  std::string bytes(300000, '\0');
  std::mt19937_64 random(5);
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      text += static_cast<char>(0xC0 | byte >> 6);
    }
    text += static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3F));
  }
  const SourcePtr source = byte_text(memory(text), ByteForm::kUtf8, bytes.size());
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t offset = random() % bytes.size();
    const std::uint64_t most = i % 3 == 0 ? bytes.size() : 50;
    const std::uint64_t length = std::min(random() % most, bytes.size() - offset);
    ASSERT_TRUE(text_view(read_bytes(*source, offset, length)) ==
                std::string_view(bytes).substr(offset, length));
  }
}

TEST(ByteTextTest, ReadsTheTextOfAKnownPlaceOnly) {
  class Counting final : public Source {
   public:
    std::uint64_t size() const override { return std::uint64_t{16} << 20; }
    void read(std::uint64_t, std::span<std::byte> dst) const override {
      total += dst.size();
      std::ranges::fill(dst, std::byte{'a'});
    }
    mutable std::uint64_t total = 0;
  };
  const auto text = std::make_shared<Counting>();
  const SourcePtr source = byte_text(text, ByteForm::kUtf8, text->size());
  read_bytes(*source, source->size() - 10, 10);
  text->total = 0;
  read_bytes(*source, 9000000, 1000);
  EXPECT_LE(text->total, 256u << 10);
  EXPECT_TRUE(source->at_hand(9000000, 1000));
}

TEST(ByteTextTest, FailsWhereTheTextStandsForNoBytes) {
  EXPECT_THROW(all_of("\xC4\x80", ByteForm::kUtf8, 1), Error);  // U+0100
  EXPECT_THROW(all_of("\x80", ByteForm::kUtf8, 1), Error);
  EXPECT_THROW(all_of("\xC3", ByteForm::kUtf8, 1), Error);
  EXPECT_THROW(all_of("\\u0100", ByteForm::kUnicodeEscape, 1), Error);
  EXPECT_THROW(all_of("\\u00", ByteForm::kUnicodeEscape, 1), Error);
  EXPECT_THROW(all_of("\\x0", ByteForm::kStringEscape, 1), Error);
  EXPECT_THROW(all_of("ab\\", ByteForm::kStringEscape, 3), Error);
}

TEST(ByteTextTest, FailsIfThereIsLessOrMoreTextThanBytes) {
  EXPECT_THROW(all_of("\xC3\xBF"
                      "a",
                      ByteForm::kUtf8, 3),
               Error);
  EXPECT_THROW(all_of("abc", ByteForm::kUtf8, 2), Error);
  EXPECT_THROW(byte_text(memory("ab"s), ByteForm::kUtf8, 3), Error);
  EXPECT_THROW(byte_text(memory("abcde"s), ByteForm::kUtf8, 2), Error);
  EXPECT_THROW(byte_text(memory("ab"s), ByteForm::kRaw, 1), Error);
}

TEST(ByteTextTest, RejectsUtf8ThatIsNone) {
  const auto number = [](std::string_view text) {
    const auto character = next_character(bytes_of(text), ByteForm::kUtf8);
    return character ? static_cast<int>(character->number) : -1;
  };
  EXPECT_EQ(number("\xED\xA0\x80"), 0xD800);  // a surrogate, as "surrogatepass" writes it
  EXPECT_EQ(number("\xF4\x8F\xBF\xBF"), 0x10FFFF);
  EXPECT_EQ(number("\xF4\x90\x80\x80"), -1);
  EXPECT_EQ(number("\xC0\x80"), -1);
  EXPECT_EQ(number("\xE0\x80\x80"), -1);
  EXPECT_EQ(number("\xF0\x80\x80\x80"), -1);
  EXPECT_EQ(number("\xE4\xB8"), -1);
  EXPECT_EQ(number(""), -1);
}

}  // namespace
}  // namespace npyfs
