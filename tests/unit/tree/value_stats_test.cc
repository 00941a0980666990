#include "npyfs/tree/value_stats.h"

#include <bit>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/memory_store.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ValueStatsTest : public testing::Test {
 protected:
  void make(std::string_view descr, Bytes data, std::uint64_t itemsize,
            std::string_view type = "") {
    const std::vector<std::byte> image = npy_image(std::string(descr), {data.size() / itemsize},
                                                   std::vector(data.begin(), data.end()));
    ArrayInfo info = *info_of_image(*memory(image));
    if (!type.empty()) {
      set_type(info, type, DtypeFrom::kOption);
    }
    CatalogBuilder builder(0);
    auto store = std::make_unique<MemoryStore>();
    store->add("w", memory(image));
    const std::uint32_t number = builder.add_store(std::move(store), "");
    const std::uint32_t info_number =
        builder.add_info(std::make_shared<const ArrayInfo>(std::move(info)));
    array_ = builder.add_array(kRootItem, "w", number, 0, info_number);
    catalog_.emplace(std::move(builder).finish());
    views_.emplace(*catalog_, std::make_shared<Decoder>());
  }
  template <typename T>
  void make_of(std::string_view descr, const std::vector<T>& values) {
    std::vector<std::byte> data(values.size() * sizeof(T));
    std::memcpy(data.data(), values.data(), data.size());
    make(descr, data, sizeof(T));
  }

  const ArrayInfo& info() const { return catalog_->info(array_); }
  ValueStats stats() {
    done_ = 0;
    return value_stats(*views_, array_, [this](std::uint64_t bytes) { done_ += bytes; });
  }

  std::optional<Catalog> catalog_;
  std::optional<Views> views_;
  ItemId array_ = kNoItem;
  std::uint64_t done_ = 0;
};

TEST_F(ValueStatsTest, LeavesOutWhatIsntFinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  make_of<float>("'<f4'", {1, -3, 0, std::numeric_limits<float>::quiet_NaN(), kInf, kInf, -kInf});
  const ValueStats found = stats();
  EXPECT_EQ(found.count, 7U);
  EXPECT_EQ(found.finite, 3U);
  EXPECT_EQ(found.zeros, 1U);
  EXPECT_EQ(found.nan, 1U);
  EXPECT_EQ(found.positive_inf, 2U);
  EXPECT_EQ(found.negative_inf, 1U);
  EXPECT_EQ(found.min, -3);
  EXPECT_EQ(found.max, 1);
  EXPECT_NEAR(static_cast<double>(found.mean), -2.0 / 3, 1e-15);
  EXPECT_FALSE(found.distinct);
}

TEST_F(ValueStatsTest, IntegersOf64BitsAreExact) {
  make_of<std::uint64_t>("'<u8'", {UINT64_MAX, UINT64_MAX - 1});
  EXPECT_EQ(static_cast<std::uint64_t>(stats().max), UINT64_MAX);
  EXPECT_EQ(static_cast<std::uint64_t>(stats().min), UINT64_MAX - 1);
  EXPECT_EQ(stats().std, 0.5L);
}

TEST_F(ValueStatsTest, ReadsBigEndianValues) {
  make("'>i2'", bytes_of(std::string_view("\x01\x00\xFF\xFE", 4)), 2);
  EXPECT_EQ(stats().max, 256);
  EXPECT_EQ(stats().min, -2);
  make("'>f4'", bytes_of(std::string_view("\x3F\xC0\x00\x00", 4)), 4);
  EXPECT_EQ(stats().mean, 1.5L);
}

TEST_F(ValueStatsTest, ReadsLongDoublesOf80Bits) {
  // 1.5, infinity, and a fraction without its leading bit.
  const std::string tail(6, '\0');
  const std::string three = std::string("\0\0\0\0\0\0\0\xC0\xFF\x3F", 10) + tail +
                            std::string("\0\0\0\0\0\0\0\x80\xFF\x7F", 10) + tail +
                            std::string("\0\0\0\0\0\0\0\x40\xFF\x3F", 10) + tail;
  make("'<f16'", bytes_of(three), 16);
  const ValueStats found = stats();
  EXPECT_EQ(found.max, 1.5L);
  EXPECT_EQ(found.positive_inf, 1U);
  EXPECT_EQ(found.nan, 1U);
}

TEST_F(ValueStatsTest, ComplexNumbersCountByTheirAbsoluteValue) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  make_of<std::array<float, 2>>("'<c8'", {{3, -4}, {0, 0}, {kInf, kNan}, {1, -kInf}});
  const ValueStats found = stats();
  EXPECT_EQ(found.max, 5);
  EXPECT_EQ(found.zeros, 1U);
  EXPECT_EQ(found.nan, 1U);
  EXPECT_EQ(found.positive_inf, 1U);
}

TEST_F(ValueStatsTest, CountsTheCodesOfSmallTypes) {
  // float4_e2m1fn: 0.5 with and without junk in the unused bits, and -6.
  make("'|V1'", bytes_of("\x01\xF1\x0F"), 1, "float4_e2m1fn");
  const ValueStats found = stats();
  EXPECT_EQ(found.distinct, 2U);
  EXPECT_EQ(found.max, 0.5L);
  EXPECT_EQ(found.min, -6);
  EXPECT_EQ(done_, 3U) << "one pass is enough";
}

TEST_F(ValueStatsTest, NaTIsNoTime) {
  make_of<std::int64_t>("'<M8[ns]'", {INT64_MIN, 7});
  EXPECT_EQ(stats().nan, 1U);
  EXPECT_EQ(stats().min, 7);
}

TEST_F(ValueStatsTest, FewIntegersHaveABinEach) {
  make_of<std::int32_t>("'<i4'", {-1, 2, 2, 0});
  EXPECT_THAT(stats().histogram.counts, ElementsAre(1, 1, 0, 2));
  EXPECT_EQ(stats().histogram.from, -1.5L);
  EXPECT_EQ(stats().histogram.to, 2.5L);
}

TEST_F(ValueStatsTest, BinsTakeTheirLowerEdgeAndTheLastTakesBoth) {
  std::vector<double> values;
  for (int i = 0; i <= 16; ++i) {
    values.push_back(i);
  }
  make_of<double>("'<f8'", values);
  const Histogram histogram = stats().histogram;
  ASSERT_EQ(histogram.counts.size(), 16U);
  EXPECT_EQ(histogram.counts.front(), 1U);
  EXPECT_EQ(histogram.counts.back(), 2U);
}

TEST_F(ValueStatsTest, HasNoExtremesOfNothing) {
  make("'<f8'", {}, 8);
  const ValueStats found = stats();
  EXPECT_EQ(found.count, 0U);
  EXPECT_TRUE(found.histogram.counts.empty());
}

TEST_F(ValueStatsTest, TellsHowFarItIs) {
  make_of<float>("'<f4'", std::vector<float>(200'000, 1.0F));
  EXPECT_EQ(stats().std, 0);
  EXPECT_EQ(done_, value_stats_bytes(info()));
}

TEST_F(ValueStatsTest, SaysWhyThereAreNone) {
  make("'|V1'", bytes_of("abc"), 1);
  EXPECT_THAT(why_no_stats(info()).value_or(""), HasSubstr("--dtype"));
  make("'|S3'", bytes_of("abc"), 3);
  EXPECT_THAT(why_no_stats(info()).value_or(""), HasSubstr("not numbers"));
  make("'|b1'", bytes_of("\x01"), 1);
  EXPECT_FALSE(why_no_stats(info()));
}

}  // namespace
}  // namespace npyfs
