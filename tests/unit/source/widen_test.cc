#include "npyfs/source/widen.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SourcePtr codes(const std::vector<unsigned>& bytes) {
  std::vector<std::byte> all;
  for (const unsigned byte : bytes) {
    all.push_back(static_cast<std::byte>(byte));
  }
  return memory(std::move(all));
}

std::vector<float> values(const SourcePtr& source) {
  std::vector<float> floats(source->size() / sizeof(float));
  source->read(0, std::as_writable_bytes(std::span(floats)));
  return floats;
}

std::vector<std::uint32_t> bits(const SourcePtr& source) {
  std::vector<std::uint32_t> words(source->size() / sizeof(std::uint32_t));
  source->read(0, std::as_writable_bytes(std::span(words)));
  return words;
}

SourcePtr all_16_bit_codes(bool big_endian) {
  std::vector<unsigned> bytes;
  for (unsigned code = 0; code < 65536; ++code) {
    bytes.push_back(big_endian ? code >> 8 : code & 0xFF);
    bytes.push_back(big_endian ? code & 0xFF : code >> 8);
  }
  return codes(bytes);
}

struct Checksum {
  Code code;
  std::uint32_t crc;
};

class TableTest : public testing::TestWithParam<Checksum> {};

// The CRC32s are of the tables that ml_dtypes 0.5 and 0.6 give for all 256 bytes.
TEST_P(TableTest, IsThatOfMlDtypes) {
  const auto table = widen_table(GetParam().code);
  const auto* bytes = reinterpret_cast<const unsigned char*>(table.data());
  EXPECT_EQ(crc32(0, bytes, sizeof(table)), GetParam().crc);
}

INSTANTIATE_TEST_SUITE_P(Widen, TableTest,
                         testing::Values(Checksum{Code::kFloat8E4m3fn, 0xc2666a8c},
                                         Checksum{Code::kFloat8E4m3, 0x20fd5a99},
                                         Checksum{Code::kFloat8E4m3fnuz, 0x7ca10122},
                                         Checksum{Code::kFloat8E4m3b11fnuz, 0x3bf4d58e},
                                         Checksum{Code::kFloat8E5m2, 0x0788ceec},
                                         Checksum{Code::kFloat8E5m2fnuz, 0x87b9aaf4},
                                         Checksum{Code::kFloat8E3m4, 0x6dfe6ce3},
                                         Checksum{Code::kFloat8E8m0fnu, 0x719979ba},
                                         Checksum{Code::kFloat6E2m3fn, 0x2817ad1b},
                                         Checksum{Code::kFloat6E3m2fn, 0xb97f90fb},
                                         Checksum{Code::kFloat4E2m1fn, 0x4e9f1886}));

TEST(WidenTest, ReadsTheTableOfAOneByteTypeForEveryByte) {
  std::vector<unsigned> bytes(256);
  for (unsigned i = 0; i < 256; ++i) {
    bytes[i] = i;
  }
  EXPECT_THAT(bits(widen(codes(bytes), Code::kFloat8E5m2)),
              ElementsAreArray(widen_table(Code::kFloat8E5m2)));
}

TEST(WidenTest, KnowsTheCornersOfFloat8) {
  const auto e4m3fn =
      values(widen(codes({0x00, 0x80, 0x38, 0x7E, 0x01, 0x08, 0x7F}), Code::kFloat8E4m3fn));
  EXPECT_THAT(std::vector(e4m3fn.begin(), e4m3fn.end() - 1),
              ElementsAre(0.0F, -0.0F, 1.0F, 448.0F, std::ldexp(1.0F, -9), std::ldexp(1.0F, -6)));
  EXPECT_TRUE(std::signbit(e4m3fn[1]));
  EXPECT_TRUE(std::isnan(e4m3fn.back()));
  EXPECT_THAT(values(widen(codes({0x7C, 0xFC, 0x7B}), Code::kFloat8E5m2)),
              ElementsAre(kInfinity, -kInfinity, 57344.0F));
  EXPECT_THAT(values(widen(codes({0x00, 0x7F, 0xFE}), Code::kFloat8E8m0fnu)),
              ElementsAre(std::ldexp(1.0F, -127), 1.0F, std::ldexp(1.0F, 127)));
}

TEST(WidenTest, IgnoresTheHighBitsOfNarrowIntegers) {
  EXPECT_THAT(values(widen(codes({0x0F, 0xF7, 0x08}), Code::kInt4)), ElementsAre(-1, 7, -8));
  EXPECT_THAT(values(widen(codes({0xFF, 0xF5}), Code::kUint4)), ElementsAre(15, 5));
  EXPECT_THAT(values(widen(codes({0, 1, 2, 3, 0xFF}), Code::kInt2)), ElementsAre(0, 1, -2, -1, -1));
  EXPECT_THAT(values(widen(codes({0, 1, 2, 3, 0xFE}), Code::kUint2)), ElementsAre(0, 1, 2, 3, 2));
  EXPECT_THAT(values(widen(codes({0, 1, 2, 0xFF}), Code::kInt1)), ElementsAre(0, -1, 0, -1));
  EXPECT_THAT(values(widen(codes({0, 1, 2, 0xFF}), Code::kUint1)), ElementsAre(0, 1, 0, 1));
}

TEST(WidenTest, TakesThePackedLowNibbleFirst) {
  EXPECT_THAT(values(widen(codes({0x21, 0xF8}), Code::kInt4Packed)), ElementsAre(1, 2, -8, -1));
  EXPECT_THAT(values(widen(codes({0x21, 0xF8}), Code::kUint4Packed)), ElementsAre(1, 2, 8, 15));
  EXPECT_THAT(values(widen(codes({0x72, 0x9F}), Code::kFloat4E2m1fnPacked)),
              ElementsAre(1.0F, 6.0F, -6.0F, -0.5F));
}

TEST(WidenTest, ShiftsEveryBfloat16InEitherByteOrder) {
  const auto little = bits(widen(all_16_bit_codes(false), Code::kBfloat16));
  for (std::uint32_t code = 0; code < 65536; ++code) {
    ASSERT_EQ(little[code], code << 16);
  }
  EXPECT_EQ(bits(widen(all_16_bit_codes(true), Code::kBfloat16Big)), little);
}

TEST(WidenTest, DecodesEveryFloat16InEitherByteOrder) {
  const auto little = values(widen(all_16_bit_codes(false), Code::kFloat16));
  for (unsigned code = 0; code < 65536; ++code) {
    const unsigned exponent = code >> 10 & 0x1F;
    const auto mantissa = static_cast<float>(code & 0x3FF);
    float expected = std::ldexp(exponent == 0 ? mantissa : mantissa + 1024,
                                static_cast<int>(exponent == 0 ? 1 : exponent) - 25);
    if (exponent == 0x1F) {
      expected = mantissa == 0 ? kInfinity : std::numeric_limits<float>::quiet_NaN();
    }
    expected = code >> 15 != 0 ? -expected : expected;
    ASSERT_EQ(std::isnan(little[code]), std::isnan(expected)) << code;
    ASSERT_TRUE(std::isnan(expected) || std::bit_cast<std::uint32_t>(little[code]) ==
                                            std::bit_cast<std::uint32_t>(expected))
        << code;
  }
  EXPECT_EQ(bits(widen(all_16_bit_codes(true), Code::kFloat16Big)),
            bits(widen(all_16_bit_codes(false), Code::kFloat16)));
}

class RangeTest : public testing::TestWithParam<Code> {};

TEST_P(RangeTest, AnyRangeIsThatOfTheWhole) {
  std::vector<std::byte> bytes(200000);
  std::mt19937_64 random(3);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  const SourcePtr source = widen(memory(std::move(bytes)), GetParam());
  std::vector<std::byte> whole;
  for (std::uint64_t at = 0; at < source->size(); at += 4) {
    const auto value = read_bytes(*source, at, 4);
    whole.insert(whole.end(), value.begin(), value.end());
  }
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t offset = random() % whole.size();
    const std::uint64_t most = i % 3 == 0 ? whole.size() : 20;
    const std::uint64_t length = std::min(random() % most, whole.size() - offset);
    const auto part = read_bytes(*source, offset, length);
    ASSERT_TRUE(
        std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)))
        << offset << " " << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Widen, RangeTest,
                         testing::Values(Code::kBfloat16, Code::kBfloat16Big, Code::kFloat16,
                                         Code::kFloat8E4m3fn, Code::kInt4, Code::kInt4Packed));

TEST(WidenTest, HasNoValuesForNoCodes) {
  EXPECT_EQ(widen(codes({}), Code::kBfloat16)->size(), 0);
  EXPECT_EQ(widen(codes({}), Code::kInt4)->size(), 0);
}

TEST(WidenTest, RejectsHalfACode) { EXPECT_THROW(widen(codes({1, 2, 3}), Code::kBfloat16), Error); }

class Endless final : public Source {
 public:
  std::uint64_t size() const override { return std::uint64_t{1} << 62; }
  void read(std::uint64_t, std::span<std::byte>) const override {}
  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    return offset == 1000 && length == 2;
  }
};

TEST(WidenTest, RejectsMoreThanAFileCanHold) {
  EXPECT_THROW(widen(std::make_shared<Endless>(), Code::kInt4), Error);
}

TEST(WidenTest, IsAtHandIfItsCodesAre) {
  const SourcePtr half = slice(std::make_shared<Endless>(), 0, 1 << 20);
  const SourcePtr source = widen(half, Code::kInt4);
  EXPECT_TRUE(source->at_hand(4001, 6));
  EXPECT_FALSE(source->at_hand(4001, 8));
  EXPECT_TRUE(source->at_hand(0, 0));
}

}  // namespace
}  // namespace npyfs
