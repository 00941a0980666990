#include "npyfs/source/transpose.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/cancel.h"
#include "npyfs/source/compose.h"

#include "source/tiles.h"
#include "support/axis_orders.h"
#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

using testing::ElementsAreArray;

std::shared_ptr<BlockCache> cache_of(std::uint64_t mebibytes) {
  return std::make_shared<BlockCache>(mebibytes << 20);
}

std::vector<std::byte> gathered(const Source& source, std::uint64_t offset, std::uint64_t length) {
  Gather out(length);
  source.gather(offset, length, out);
  std::vector<std::byte> bytes;
  for (const iovec& span : out.spans()) {
    const auto* begin = static_cast<const std::byte*>(span.iov_base);
    bytes.insert(bytes.end(), begin, begin + span.iov_len);
  }
  return bytes;
}

std::vector<std::byte> read_forward(const Source& source, std::size_t piece) {
  std::vector<std::byte> bytes;
  for (std::uint64_t at = 0; at < source.size(); at += piece) {
    const auto next = read_bytes(source, at, std::min<std::uint64_t>(piece, source.size() - at));
    bytes.insert(bytes.end(), next.begin(), next.end());
  }
  return bytes;
}

struct Case {
  Extents shape;
  std::size_t itemsize;
};

class CombinedTest : public testing::TestWithParam<Case> {};

TEST_P(CombinedTest, IsTheArrayInCOrderWhereverItIsRead) {
  const auto& [shape, itemsize] = GetParam();
  const auto fortran = noise_bytes(bytes_in(shape, itemsize));
  const auto expected = in_order(fortran, shape, reversed_axes(shape.size()), itemsize);
  const std::vector<std::pair<std::uint64_t, bool>> ways = {
      {0, false}, {1, true}, {64, false}, {64, true}};
  for (const auto& [mebibytes, decoded] : ways) {
    const auto cache = cache_of(mebibytes);
    const auto source = c_order(std::make_shared<PassCounter>(fortran, decoded), shape, itemsize,
                                cache, cache->new_objects());
    ASSERT_EQ(source->size(), expected.size());
    EXPECT_TRUE(read_forward(*source, 100000) == expected);
    std::mt19937_64 random(2);
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t offset = random() % expected.size();
      const std::uint64_t most = i % 2 == 0 ? 300 : 700000;
      const std::uint64_t length = std::min(random() % most, expected.size() - offset);
      const auto wanted = Bytes(expected).subspan(offset, length);
      EXPECT_TRUE(std::ranges::equal(read_bytes(*source, offset, length), wanted));
      EXPECT_TRUE(std::ranges::equal(gathered(*source, offset, length), wanted));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Transpose, CombinedTest,
    testing::Values(Case{{2, 2}, 1}, Case{{3, 5}, 4}, Case{{1, 7, 1, 5, 1}, 2},
                    Case{{1000, 777}, 1}, Case{{1023, 600}, 2}, Case{{600, 1023}, 4},
                    Case{{70000, 3}, 8}, Case{{3, 70000}, 8}, Case{{100, 90, 80}, 4},
                    Case{{2, 300, 400}, 4}, Case{{64, 40, 40, 3}, 1}, Case{{3, 40, 40, 64}, 4},
                    Case{{2, 3, 4, 5, 6, 7, 8}, 16}, Case{{300, 500}, 3}, Case{{20, 30, 10}, 100},
                    Case{{40, 50}, 333}, Case{{9, 11}, 4095}, Case{{7, 5}, 4096},
                    Case{{5, 3, 2}, 65536}, Case{{2, 3}, 300001},
                    Case{{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 1}));

TEST(TransposeTest, GivesTheSourceBackWhereBothOrdersAgree) {
  const auto cache = cache_of(1);
  const auto twelve = memory(noise_bytes(12));
  const auto nothing = memory(std::string());
  const auto same = [&](const SourcePtr& source, const Extents& shape, std::uint64_t itemsize) {
    return c_order(source, shape, itemsize, cache, 1) == source;
  };
  EXPECT_TRUE(same(twelve, {}, 12));
  EXPECT_TRUE(same(twelve, {3}, 4));
  EXPECT_TRUE(same(twelve, {1, 1, 12, 1}, 1));
  EXPECT_TRUE(same(twelve, {1, 1}, 12));
  EXPECT_TRUE(same(nothing, {0, 5}, 4));
  EXPECT_TRUE(same(nothing, {UINT64_MAX, 0, UINT64_MAX}, 4));
  EXPECT_TRUE(same(nothing, {4, 5}, 0));
  EXPECT_FALSE(same(twelve, {3, 2}, 2));
}

TEST(TransposeTest, RejectsASourceOfAnotherSize) {
  const auto cache = cache_of(1);
  const auto twelve = memory(noise_bytes(12));
  EXPECT_THROW(c_order(twelve, {3, 3}, 1, cache, 1), Error);
  EXPECT_THROW(c_order(twelve, {}, 8, cache, 1), Error);
  EXPECT_THROW(c_order(twelve, {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 12, cache, 1),
               Error);
}

TEST(TransposeTest, ReadsEachByteOfAStoredArrayAboutOnce) {
  const Extents shape = {6000, 1000};
  const auto stored = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)));
  const auto cache = cache_of(64);
  const auto source = c_order(stored, shape, 4, cache, cache->new_objects());
  read_forward(*source, 128 << 10);
  EXPECT_LE(stored->bytes_read, source->size() * 5 / 4);
  // The last tiles are so large that their runs are kilobytes.
  EXPECT_LE(stored->reads, source->size() / 2048);
}

TEST(TransposeTest, PassesOnceOverADecodedArrayThatFits) {
  const Extents shape = {1000, 1500};
  const auto decoded = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)), true);
  const auto cache = cache_of(64);
  const auto source = c_order(decoded, shape, 4, cache, cache->new_objects());
  read_forward(*source, 128 << 10);
  EXPECT_EQ(decoded->bytes_read, source->size());
  EXPECT_EQ(decoded->backward, 0);
}

TEST(TransposeTest, PassesOverADecodedArrayOnceForEachTile) {
  const Extents shape = {700, 60, 70};
  const auto decoded = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)), true);
  const auto cache = cache_of(12);  // tiles of 2 MiB
  const auto source = c_order(decoded, shape, 4, cache, cache->new_objects());
  read_forward(*source, 128 << 10);
  EXPECT_LE(decoded->backward, source->size() / (2 << 20));
}

TEST(TransposeTest, TakesASmallReadOutOfTurnFromItsOwnElements) {
  const Extents shape = {2000, 5000};
  const auto stored = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)));
  const auto cache = cache_of(64);
  const auto source = c_order(stored, shape, 4, cache, cache->new_objects());
  read_bytes(*source, 25000000, 4096);
  EXPECT_LE(stored->reads, 1025);
  EXPECT_LE(stored->bytes_read, 4096u + 4);
  EXPECT_EQ(cache->counts().bytes, 0);
}

TEST(TransposeTest, FindsTheBlocksOfAnEarlierOpen) {
  const Extents shape = {500, 600};
  const auto stored = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)));
  const auto cache = cache_of(64);
  const auto object = cache->new_objects();
  const auto first = read_forward(*c_order(stored, shape, 4, cache, object), 100000);
  const std::uint64_t reads = stored->reads;
  EXPECT_TRUE(read_forward(*c_order(stored, shape, 4, cache, object), 100000) == first);
  EXPECT_EQ(stored->reads, reads);
}

TEST(TransposeTest, IsAtHandOnceItsBlocksAreCached) {
  const Extents shape = {2000, 600};
  const auto cache = cache_of(64);
  const auto source = c_order(std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)), true),
                              shape, 4, cache, cache->new_objects());
  EXPECT_FALSE(source->at_hand(0, 1));
  EXPECT_FALSE(source->at_hand(4000000, 100));
  read_forward(*source, 128 << 10);
  EXPECT_TRUE(source->at_hand(0, source->size()));
}

TEST(TransposeTest, LendsCachedBlocksUntilTheReplyIsFull) {
  const Extents shape = {1024, 1024};
  const auto cache = cache_of(64);
  const auto source =
      c_order(memory(noise_bytes(bytes_in(shape, 1))), shape, 1, cache, cache->new_objects());
  Gather out(source->size());
  source->gather(0, source->size(), out);
  EXPECT_EQ(out.spans().size(), source->size() / BlockCache::kBlockSize);
  Gather many(2000);
  for (int i = 0; i < 1000; ++i) {
    source->gather(static_cast<std::uint64_t>(i) * 3, 1, many);
  }
  EXPECT_LE(many.spans().size(), Gather::kMostSpans);
  EXPECT_EQ(many.size(), 1000);
}

TEST(TransposeTest, PassesOnAFailureOfTheSourceAndTriesAgain) {
  const Extents shape = {1024, 1024};
  const auto stored = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 1)));
  stored->on_read = [] { throw_error(EIO, "gone"); };
  const auto cache = cache_of(64);
  const auto source = c_order(stored, shape, 1, cache, cache->new_objects());
  EXPECT_THROW(read_forward(*source, 100000), Error);
  stored->on_read = nullptr;
  EXPECT_EQ(read_forward(*source, 100000).size(), source->size());
}

TEST(TransposeTest, StopsWhenItsReaderWentAway) {
  const Extents shape = {4096, 1024};
  const auto stored = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 1)), true);
  const auto cache = cache_of(64);
  const auto source = c_order(stored, shape, 1, cache, cache->new_objects());
  const CancelScope scope([&] { return stored->reads > 0; });
  EXPECT_THROW(read_forward(*source, 100000), Error);
  EXPECT_LE(stored->bytes_read, 2u << 20);
}

TEST(TransposeTest, ManyReadersShareTheTilesOfAnArray) {
  const Extents shape = {1500, 1000};
  const auto decoded = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)), true);
  const auto expected =
      read_forward(*c_order(std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4))), shape,
                            4, cache_of(64), 1),
                   65536);
  const auto cache = cache_of(64);
  const auto object = cache->new_objects();
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 4; ++i) {
      readers.emplace_back([&] {
        const auto source = c_order(decoded, shape, 4, cache, object);
        wrong += read_forward(*source, 128 << 10) == expected ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(decoded->bytes_read, expected.size());
}

TEST(TransposeTest, ReadersInACrowdedCacheStillGetTheirBytes) {
  const Extents shape = {1500, 1000};
  const auto stored = std::make_shared<PassCounter>(noise_bytes(bytes_in(shape, 4)));
  const auto cache = cache_of(2);
  const auto expected = in_order(noise_bytes(bytes_in(shape, 4)), shape, reversed_axes(2), 4);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> readers;
    for (std::uint64_t i = 0; i < 4; ++i) {
      readers.emplace_back([&, i] {
        const auto source = c_order(stored, shape, 4, cache, i % 2 + 1);
        std::mt19937_64 random(i);
        for (int k = 0; k < 50; ++k) {
          const std::uint64_t offset = random() % (expected.size() - 70000);
          const auto got = read_bytes(*source, offset, 70000);
          wrong += std::ranges::equal(got, Bytes(expected).subspan(offset, 70000)) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(TilesTest, GiveTwoWhoWantTheSameBlockOneTile) {
  Tiles tiles;
  const auto first = tiles.claim({nullptr, 1, 10, 5, false, {}}, 100);
  EXPECT_TRUE(first.ours);
  EXPECT_EQ(tiles.claim({nullptr, 1, 14, 1, false, {}}, 100).tile, first.tile);
  EXPECT_TRUE(tiles.claim({nullptr, 2, 14, 1, false, {}}, 100).ours);
  EXPECT_EQ(tiles.claim({nullptr, 1, 8, 5, false, {}}, 100).tile->count, 2);
  EXPECT_EQ(tiles.claim({nullptr, 1, 15, 5, false, {}}, 100).tile->count, 5);
}

TEST(TilesTest, StayWithinTheLimitOfAllTogether) {
  Tiles tiles;
  const auto first = tiles.claim({nullptr, 1, 0, 90, false, {}}, 100);
  EXPECT_EQ(tiles.claim({nullptr, 2, 0, 90, false, {}}, 100).tile->count, 10);
  EXPECT_EQ(tiles.claim({nullptr, 3, 0, 90, false, {}}, 100).tile->count, 1);
  tiles.finish(first.tile, {});
  EXPECT_EQ(tiles.claim({nullptr, 3, 50, 90, false, {}}, 100).tile->count, 89);
}

TEST(TilesTest, AWaitEndsWithTheTileOrWhenCancelled) {
  Tiles tiles;
  const auto claim = tiles.claim({nullptr, 1, 0, 1, false, {}}, 1);
  {
    const CancelScope scope([] { return true; });
    EXPECT_THROW(tiles.wait(claim.tile), Error);
  }
  const std::jthread other([&] { tiles.finish(claim.tile, {}); });
  tiles.wait(claim.tile);
}

}  // namespace
}  // namespace npyfs
