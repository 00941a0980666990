#include "npyfs/source/axis_order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

using Shape = std::vector<std::uint64_t>;
using Axes = std::vector<std::size_t>;
using testing::ElementsAreArray;

std::vector<std::byte> noise(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::minstd_rand random(1);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random() >> 8); });
  return bytes;
}

// The same, element by element.
std::vector<std::byte> transposed(const std::vector<std::byte>& data, const Shape& stored,
                                  const Axes& axes, std::size_t itemsize) {
  Shape strides(stored.size());
  std::uint64_t stride = itemsize;
  for (std::size_t i = stored.size(); i-- > 0; stride *= stored[i]) {
    strides[i] = stride;
  }
  std::vector<std::byte> result;
  Shape index(stored.size());
  while (result.size() < data.size()) {
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      place += index[i] * strides[axes[i]];
    }
    const auto from = data.begin() + static_cast<std::ptrdiff_t>(place);
    result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(itemsize));
    for (std::size_t i = axes.size(); i-- > 0;) {
      if (++index[i] < stored[axes[i]]) {
        break;
      }
      index[i] = 0;
    }
  }
  return result;
}

struct Case {
  Shape stored;
  std::size_t itemsize;
};

class AxisOrderTest : public testing::TestWithParam<Case> {};

TEST_P(AxisOrderTest, IsATransposeHoweverItIsRead) {
  const auto& [stored, itemsize] = GetParam();
  const auto data =
      noise(std::accumulate(stored.begin(), stored.end(), itemsize, std::multiplies<>()));
  Axes axes(stored.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::minstd_rand random(2);
  do {
    const auto source = reorder_axes(memory(data), stored, axes, itemsize);
    const auto wanted = transposed(data, stored, axes, itemsize);
    ASSERT_EQ(source->size(), wanted.size());
    EXPECT_THAT(read_bytes(*source, 0, wanted.size()) == wanted, true);
    for (int i = 0; i < 50 && !wanted.empty(); ++i) {
      const std::size_t at = random() % wanted.size();
      const std::size_t length = random() % (std::min<std::size_t>(wanted.size() - at, 5000) + 1);
      EXPECT_THAT(read_bytes(*source, at, length),
                  ElementsAreArray(std::span(wanted).subspan(at, length)));
    }
  } while (std::ranges::next_permutation(axes).found);
}

// The last ones have runs too far apart to read over, of rows that are and aren't, and more than
// one stretch.
INSTANTIATE_TEST_SUITE_P(Shapes, AxisOrderTest,
                         testing::Values(Case{{3, 4, 5}, 3}, Case{{2, 3, 4, 5}, 1},
                                         Case{{1, 7, 1, 4}, 2}, Case{{5}, 4}, Case{{}, 8},
                                         Case{{4, 0, 3}, 2}, Case{{3, 2}, 0},
                                         Case{{40, 3, 6000}, 1}, Case{{3, 200, 30}, 4},
                                         Case{{64, 70, 60}, 4}));

TEST(AxisOrderTest, IsTheDataItselfWhereTheOrderMakesNoDifference) {
  const auto data = memory(noise(24));
  EXPECT_EQ(reorder_axes(data, {4, 6}, {0, 1}, 1), data);
  EXPECT_EQ(reorder_axes(data, {4, 1, 6}, {1, 0, 2}, 1), data);
  EXPECT_NE(reorder_axes(data, {4, 6}, {1, 0}, 1), data);
}

TEST(AxisOrderTest, RefusesDataOfAnotherLength) {
  const auto data = memory(noise(24));
  EXPECT_THROW(reorder_axes(data, {4, 5}, {1, 0}, 1), Error);
  EXPECT_THROW(reorder_axes(data, {1ULL << 40, 1ULL << 40}, {1, 0}, 1), Error);
}

}  // namespace
}  // namespace npyfs
