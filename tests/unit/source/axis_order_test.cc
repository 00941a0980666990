// c_order of arrays whose axes are stored in any order; transpose_test has what is so of all.
#include "source/axis_order.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/inflate.h"
#include "npyfs/source/transpose.h"

#include "support/axis_orders.h"
#include "support/deflate_bytes.h"
#include "support/reading.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

SourcePtr ordered(SourcePtr data, const Extents& stored, const Axes& axes, std::uint64_t itemsize,
                  std::uint64_t cache_bytes = 64 * kMiB) {
  const auto cache = std::make_shared<BlockCache>(cache_bytes);
  return c_order(std::move(data), shape_of(stored, axes), axes, itemsize, cache,
                 cache->new_objects());
}

// The same bytes as two sources one after the other.
SourcePtr in_two_pieces(const std::vector<std::byte>& bytes) {
  const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() * 3 / 7);
  return concat({memory(std::vector<std::byte>(bytes.begin(), middle)),
                 memory(std::vector<std::byte>(middle, bytes.end()))});
}

// Calls visit(axes) for every order of so many.
template <typename Visit>
void each_order(std::size_t count, Visit&& visit) {
  Axes axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  do {
    visit(axes);
  } while (std::ranges::next_permutation(axes).found);
}

struct Case {
  Extents stored;
  std::size_t itemsize;
};

void expect_all_orders(const Extents& stored, std::size_t itemsize) {
  const auto data = noise_bytes(bytes_in(stored, itemsize));
  std::minstd_rand random(2);
  each_order(stored.size(), [&](const Axes& axes) {
    const auto wanted = in_order(data, shape_of(stored, axes), axes, itemsize);
    const std::vector<SourcePtr> ways = {
        ordered(std::make_shared<PassCounter>(data), stored, axes, itemsize),
        ordered(in_two_pieces(data), stored, axes, itemsize),
        ordered(std::make_shared<PassCounter>(data, true), stored, axes, itemsize),
        ordered(std::make_shared<PassCounter>(data, true), stored, axes, itemsize, kMiB),
        ordered(memory(data), stored, axes, itemsize, 0),
    };
    for (const SourcePtr& source : ways) {
      ASSERT_EQ(source->size(), wanted.size());
      for (int i = 0; i < 12 && !wanted.empty(); ++i) {
        const std::size_t most = i % 2 == 0 ? 40 : 9000;
        const std::size_t at = random() % wanted.size();
        const std::size_t length = random() % (std::min(wanted.size() - at, most) + 1);
        ASSERT_TRUE(std::ranges::equal(read_bytes(*source, at, length),
                                       std::span(wanted).subspan(at, length)))
            << testing::PrintToString(axes) << " at " << at << ", " << length;
      }
      ASSERT_TRUE(read_bytes(*source, 0, wanted.size()) == wanted) << testing::PrintToString(axes);
    }
  });
}

class OrderedTest : public testing::TestWithParam<Case> {};

TEST_P(OrderedTest, IsATransposeHoweverItIsRead) {
  expect_all_orders(GetParam().stored, GetParam().itemsize);
}

INSTANTIATE_TEST_SUITE_P(Small, OrderedTest,
                         testing::Values(Case{{}, 8}, Case{{5}, 4}, Case{{4, 0, 3}, 2},
                                         Case{{3, 2}, 0}, Case{{3, 4, 5}, 3}, Case{{1, 7, 1, 4}, 2},
                                         Case{{2, 3, 4, 5}, 1}, Case{{3, 2, 5, 3, 2}, 7},
                                         Case{{3, 1, 5, 2, 3, 2}, 6},
                                         Case{{2, 3, 2, 3, 3, 2}, 10}));
// With gaps that are read over and that aren't, runs that are worth their own reads, boxes and
// tiles of many sizes.
INSTANTIATE_TEST_SUITE_P(Large, OrderedTest,
                         testing::Values(Case{{40, 3, 6000}, 1}, Case{{3, 200, 30}, 4},
                                         Case{{64, 70, 60}, 4}, Case{{9, 7, 2049}, 2},
                                         Case{{3, 5, 7, 1367}, 3}, Case{{17, 3, 19, 5}, 300},
                                         Case{{7, 33, 5, 41}, 10}, Case{{3, 5, 3}, 5000},
                                         Case{{5, 3, 11, 7, 13}, 8}));

TEST(AxisOrderTest, TakesElementsOfAnySize) {
  for (std::size_t itemsize = 1; itemsize <= 16; ++itemsize) {
    expect_all_orders({11, 5, 17}, itemsize);
  }
}

TEST(AxisOrderTest, IsTheDataItselfWhereTheOrderMakesNoDifference) {
  const auto data = memory(noise_bytes(24));
  EXPECT_EQ(ordered(data, {4, 6}, {0, 1}, 1), data);
  EXPECT_EQ(ordered(data, {4, 1, 6}, {1, 0, 2}, 1), data);
  EXPECT_NE(ordered(data, {4, 6}, {1, 0}, 1), data);
  const auto nothing = memory(std::string());
  EXPECT_EQ(ordered(nothing, {UINT64_MAX, 0, UINT64_MAX}, {1, 2, 0}, 4), nothing);
}

TEST(AxisOrderTest, RefusesDataOfAnotherLength) {
  const auto data = memory(noise_bytes(24));
  EXPECT_THROW(ordered(data, {4, 5}, {1, 0}, 1), Error);
  EXPECT_THROW(ordered(data, {1ULL << 40, 1ULL << 40}, {1, 0}, 1), Error);
}

TEST(AxisOrderTest, JoinsAxesThatStayTogether) {
  const AxisOrder heads({8, 16, 1024, 64}, {0, 2, 1, 3}, 4);
  EXPECT_EQ(heads.itemsize(), 64 * 4);
  EXPECT_EQ(heads.slice(), 16 * 1024 * 64 * 4);
  EXPECT_EQ(heads.stretch_of_runs(16 * 256), 16 * 1024 * 256);
  EXPECT_TRUE(AxisOrder({1, 6, 4}, {2, 0, 1}, 1).changes_nothing());
}

TEST(AxisOrderTest, ReadsEachByteOfAStoredArrayOnceOrTwice) {
  const Extents stored = {20, 30, 50, 40};
  const auto data = noise_bytes(bytes_in(stored, 4));
  each_order(stored.size(), [&](const Axes& axes) {
    const auto counter = std::make_shared<PassCounter>(data);
    read_through(*ordered(counter, stored, axes, 4));
    EXPECT_LE(counter->bytes_read, data.size() * 2) << testing::PrintToString(axes);
    EXPECT_LE(counter->reads, data.size() / 512) << testing::PrintToString(axes);
  });
}

TEST(AxisOrderTest, PassesOnceOverADecodedArrayThatFits) {
  const Extents stored = {20, 30, 50, 40};
  const auto data = noise_bytes(bytes_in(stored, 4));
  each_order(stored.size(), [&](const Axes& axes) {
    const auto decoded = std::make_shared<PassCounter>(data, true);
    read_through(*ordered(decoded, stored, axes, 4));
    EXPECT_LE(decoded->bytes_read + decoded->back_over, data.size() * 2)
        << testing::PrintToString(axes);
    if (axes.front() != 0) {
      EXPECT_EQ(decoded->bytes_read, data.size()) << testing::PrintToString(axes);
      EXPECT_EQ(decoded->backward, 0) << testing::PrintToString(axes);
    }
  });
}

struct Deflated {
  explicit Deflated(const std::vector<std::byte>& plain)
      : compressed(deflate_bytes(plain, {.level = 1})), size(plain.size()) {}

  SourcePtr open() {
    return decoder.open(1, size, std::nullopt,
                        [this] { return inflate_codec(memory(compressed)); });
  }
  SourcePtr ordered(const Extents& stored, const Axes& axes) {
    return c_order(open(), shape_of(stored, axes), axes, 4,
                   std::shared_ptr<BlockCache>(std::shared_ptr<void>(), &decoder.cache()), object);
  }
  std::uint64_t decoded() const { return decoder.counts().decoded_bytes; }

  std::vector<std::byte> compressed;
  std::uint64_t size;
  Decoder decoder{{.cache_bytes = 12 * kMiB, .threads = 0}};  // tiles of 2 MiB
  std::uint64_t object = decoder.cache().new_objects();
};

// Slices smaller and larger than a tile, and items worth a read of their own, of an array that the
// cache can't hold.
TEST(AxisOrderTest, DecodesEachByteOnceOrTwiceWhereSlicesFit) {
  const std::vector<std::pair<Extents, Axes>> orders = {
      {{60, 100, 50, 20}, {0, 3, 1, 2}}, {{60, 100, 50, 20}, {0, 2, 1, 3}},
      {{16, 30, 500, 20}, {0, 2, 3, 1}}, {{16, 9, 10, 1100}, {0, 2, 1, 3}},
      {{4, 15, 200, 500}, {0, 1, 3, 2}},
  };
  for (const auto& [stored, axes] : orders) {
    const auto plain = sparse_bytes(bytes_in(stored, 4));
    Deflated member(plain);
    const SourcePtr source = member.ordered(stored, axes);
    read_through(*source);
    EXPECT_LE(member.decoded(), plain.size() * 2) << testing::PrintToString(axes);
    EXPECT_TRUE(read_bytes(*source, 0, source->size()) ==
                in_order(plain, shape_of(stored, axes), axes, 4));
  }
}

TEST(AxisOrderTest, AReadOutOfTurnDecodesItsOwnSlice) {
  const Extents stored = {60, 100, 50, 20};
  const Axes axes = {0, 3, 1, 2};
  Deflated member(sparse_bytes(bytes_in(stored, 4)));
  read_through(*member.open());  // leaves restart points
  const std::uint64_t before = member.decoded();
  read_bytes(*member.ordered(stored, axes), 5 * 400000 + 5000, 100000);
  EXPECT_GT(member.decoded(), before);
  EXPECT_LE(member.decoded() - before, 2 * kMiB);
}

}  // namespace
}  // namespace npyfs
