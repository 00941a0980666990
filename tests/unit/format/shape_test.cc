#include "npyfs/format/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint64_t kTwo32 = std::uint64_t{1} << 32;
constexpr std::uint64_t kTwo62 = std::uint64_t{1} << 62;

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(element_count(Shape{}), 1U);
  EXPECT_EQ(element_count(Shape{3}), 3U);
  EXPECT_EQ(element_count(Shape{3, 4, 5}), 60U);
  EXPECT_EQ(element_count(Shape{0}), 0U);
}

TEST(ShapeTest, AZeroAnywhereMakesItEmptyHoweverLongTheOthers) {
  EXPECT_EQ(element_count(Shape{0, kTwo62, kTwo62}), 0U);
  EXPECT_EQ(element_count(Shape{kTwo62, kTwo62, 0}), 0U);
  EXPECT_EQ(data_bytes(Shape{kTwo62, kTwo62, 0}, 8), 0U);
}

TEST(ShapeTest, RefusesCountsPast63Bits) {
  EXPECT_THAT(
      [] {
        element_count(Shape{kTwo32, kTwo32});
      },
      ThrowsMessage<Error>(HasSubstr("(4294967296, 4294967296) has more than 2^63")));
  EXPECT_THROW(element_count(Shape{kTwo62, 2}), Error);
  EXPECT_EQ(element_count(Shape{kTwo62, 1}), kTwo62);
}

TEST(ShapeTest, RefusesBytesPast63Bits) {
  EXPECT_EQ(data_bytes(Shape{2, 3}, 4), 24U);
  EXPECT_EQ(data_bytes(Shape{3}, 0), 0U);
  EXPECT_THROW(data_bytes(Shape{kTwo62}, 4), Error);
}

TEST(ShapeTest, U8ViewMultipliesTheLastAxis) {
  EXPECT_EQ(u8view_shape(Shape{2, 3}, 4), (Shape{2, 12}));
  EXPECT_EQ(u8view_shape(Shape{2, 3}, 1), (Shape{2, 3}));
  EXPECT_EQ(u8view_shape(Shape{2, 0}, 8), (Shape{2, 0}));
  EXPECT_EQ(u8view_shape(Shape{0, 3}, 2), (Shape{0, 6}));
}

TEST(ShapeTest, U8ViewOfAScalarIsItsBytes) {
  EXPECT_EQ(u8view_shape(Shape{}, 2), (Shape{2}));
  EXPECT_EQ(u8view_shape(Shape{}, 0), (Shape{0}));
}

TEST(ShapeTest, U8ViewRefusesALastAxisPast63Bits) {
  EXPECT_THROW(u8view_shape(Shape{0, kTwo62}, 2), Error);
}

TEST(ShapeTest, PrintsAsAPythonTuple) {
  EXPECT_EQ(shape_text(Shape{}), "()");
  EXPECT_EQ(shape_text(Shape{3}), "(3,)");
  EXPECT_EQ(shape_text(Shape{3, 0, 5}), "(3, 0, 5)");
}

}  // namespace
}  // namespace npyfs
