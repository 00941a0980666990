#include "npyfs/base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint64_t kMost = UINT64_MAX;

TEST(CheckedArithmeticTest, HasNoResultThatWrapped) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_add(kMost, 1), std::nullopt);
  EXPECT_EQ(checked_multiply(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1),
            kMost - 0xFFFFFFFF);
  EXPECT_EQ(checked_multiply(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_multiply(kMost, 0), 0U);
}

TEST(ByteReaderTest, ReadsLittleEndianIntegersInTurn) {
  ByteReader in(bytes_of("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff"sv));
  EXPECT_EQ(in.u8(), 0x01);
  EXPECT_EQ(in.u16(), 0x0302);
  EXPECT_EQ(in.u32(), 0x07060504U);
  EXPECT_EQ(in.remaining(), 8U);
  EXPECT_EQ(in.u64(), 0xff0e0d0c0b0a0908U);
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(ByteReaderTest, TakesAndSkipsPieces) {
  ByteReader in(bytes_of("abcdef"));
  in.skip(2);
  EXPECT_EQ(text_view(in.take(3)), "cde");
  EXPECT_EQ(text_view(in.take(1)), "f");
  EXPECT_TRUE(in.take(0).empty());
}

TEST(ByteReaderTest, NeverPassesTheEnd) {
  ByteReader in(bytes_of("abc"));
  EXPECT_THAT([&] { in.u32(); }, ThrowsMessage<Error>(HasSubstr("4 bytes wanted, 3 left")));
  EXPECT_THAT([&] { in.take(SIZE_MAX); }, ThrowsMessage<Error>(HasSubstr("ends early")));
  EXPECT_EQ(in.remaining(), 3U) << "a failed read takes nothing";
  EXPECT_EQ(text_view(in.take(3)), "abc");
}

}  // namespace
}  // namespace npyfs
