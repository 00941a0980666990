#include "cli/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/text.h"

#include "cli/stats_text.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HistogramTest, DrawsTheLongestBarFortyWide) {
  EXPECT_EQ(draw_histogram({0, 2, {4, 2}}, false),
            "  0  " + std::string(40, '#') + " 4\n" + "  1  " + std::string(20, '#') + " 2\n");
}

TEST(HistogramTest, ShowsThatABinIsNotEmpty) {
  EXPECT_THAT(draw_histogram({0, 3, {1'000'000, 1, 0}}, false),
              testing::EndsWith("  1  # 1\n  2  0\n"));
  EXPECT_THAT(draw_histogram({0, 3, {1'000'000, 1, 0}}, true), HasSubstr("  1  ▏ 1\n"));
}

TEST(HistogramTest, LabelsBinsOfOneIntegerWithIt) {
  EXPECT_THAT(draw_histogram({-1.5L, 0.5L, {1, 1}}, false), testing::StartsWith("  -1  #"));
}

TEST(HistogramTest, TellsNarrowBinsFarFromZeroApart) {
  const std::string drawn = draw_histogram({1'000'000'000, 1'000'000'001, {1, 1}}, false);
  EXPECT_THAT(drawn, HasSubstr("1000000000.5"));
}

TEST(HistogramTest, DrawsNothingOfNothing) { EXPECT_EQ(draw_histogram({}, true), ""); }

TEST(StatsTextTest, NumbersWithoutAValueAreNull) {
  Dtype dtype = parse_descr("<f4");
  ValueStats stats;
  stats.count = stats.nan = 2;
  const std::string json = stats_json(stats, dtype);
  EXPECT_THAT(json, HasSubstr("\"min\": null"));
  EXPECT_THAT(json, HasSubstr("\"histogram\": null"));
  EXPECT_THAT(stats_text(stats, dtype, false), HasSubstr("none of them finite"));
}

TEST(StatsTextTest, OnlyFloatsTellOfInfinities) {
  ValueStats stats;
  stats.count = stats.finite = 1;
  EXPECT_THAT(stats_text(stats, parse_descr("<i4"), false), Not(HasSubstr("inf")));
  EXPECT_THAT(stats_text(stats, parse_descr("<f4"), false), HasSubstr("0 +inf, 0 -inf"));
}

}  // namespace
}  // namespace npyfs
