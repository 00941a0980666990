#include "npyfs/source/block_cache.h"

#include <thread>

#include <gtest/gtest.h>

namespace npyfs {
namespace {

constexpr std::size_t kSize = 1000;
constexpr std::uint64_t kCost = kSize + BlockCache::kBlockOverhead;

BlockPtr block(std::size_t size = kSize) { return std::make_shared<const Block>(size); }

TEST(BlockCacheTest, FindsWhatWasPut) {
  BlockCache cache(10 * kCost);
  const BlockPtr first = block();
  cache.put({1, 7}, first);
  EXPECT_EQ(cache.find({1, 7}, 0, 1), first);
  EXPECT_EQ(cache.find({1, 8}, 0, 1), nullptr);
  EXPECT_EQ(cache.find({2, 7}, 0, 1), nullptr);
  EXPECT_EQ(cache.counts().hits, 1U);
  EXPECT_EQ(cache.counts().misses, 2U);
}

TEST(BlockCacheTest, ContainsCountsAsNothing) {
  BlockCache cache(10 * kCost);
  cache.put({1, 0}, block());
  EXPECT_TRUE(cache.contains({1, 0}));
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_EQ(cache.counts().hits + cache.counts().misses, 0U);
}

TEST(BlockCacheTest, ABlockThatIsThereStays) {
  BlockCache cache(10 * kCost);
  const BlockPtr first = block();
  cache.put({1, 0}, first);
  cache.put({1, 0}, block());
  EXPECT_EQ(cache.find({1, 0}, 0, 1), first);
  EXPECT_EQ(cache.counts().bytes, kCost);
}

TEST(BlockCacheTest, StaysWithinItsBudget) {
  BlockCache cache(3 * kCost);
  for (std::uint64_t i = 0; i < 100; ++i) {
    cache.put({1, i}, block());
    ASSERT_LE(cache.counts().bytes, 3 * kCost);
  }
  EXPECT_EQ(cache.counts().blocks, 3U);
  EXPECT_EQ(cache.counts().evicted, 97U);
  EXPECT_TRUE(cache.contains({1, 99}));
  EXPECT_FALSE(cache.contains({1, 96}));
}

TEST(BlockCacheTest, TinyBlocksAreChargedForTheirBookkeeping) {
  BlockCache cache(std::uint64_t{100} << 10);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    cache.put({i, 0}, block(1));
  }
  EXPECT_LE(cache.counts().blocks, 400U);
}

TEST(BlockCacheTest, ABlockLargerThanTheBudgetIsNotKept) {
  BlockCache cache(3 * kCost);
  cache.put({1, 0}, block());
  cache.put({1, 1}, block(5000));
  EXPECT_FALSE(cache.contains({1, 1}));
  EXPECT_TRUE(cache.contains({1, 0}));
}

TEST(BlockCacheTest, AnEvictedBlockLivesWhileSomebodyUsesIt) {
  BlockCache cache(kCost);
  cache.put({1, 0}, block());
  const BlockPtr held = cache.find({1, 0}, 0, kSize);
  cache.put({1, 1}, block());
  EXPECT_FALSE(cache.contains({1, 0}));
  EXPECT_EQ(held->size(), kSize);
}

TEST(BlockCacheTest, AStreamingReaderDoesNotFlushWhatIsUsedAgain) {
  BlockCache cache(10 * kCost);
  for (std::uint64_t i = 0; i < 5; ++i) {
    cache.put({1, i}, block(), 0, 100);
    cache.find({1, i}, 50, 150);  // some bytes for the second time
  }
  for (std::uint64_t i = 0; i < 1000; ++i) {  // each block in four requests, each byte once
    cache.put({2, i}, block(), 0, 250);
    for (std::size_t at = 250; at < kSize; at += 250) {
      ASSERT_NE(cache.find({2, i}, at, at + 250), nullptr);
    }
  }
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(cache.contains({1, i})) << i;
  }
}

TEST(BlockCacheTest, WhatIsNoLongerUsedGivesWayInTheEnd) {
  BlockCache cache(10 * kCost);
  const auto use_twice = [&cache](std::uint64_t object) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      cache.put({object, i}, block(), 0, kSize);
      cache.find({object, i}, 0, kSize);
    }
  };
  use_twice(1);
  use_twice(2);
  use_twice(3);
  for (std::uint64_t i = 0; i < 8; ++i) {
    EXPECT_FALSE(cache.contains({1, i})) << i;
    EXPECT_TRUE(cache.contains({3, i})) << i;
  }
}

TEST(BlockCacheTest, ObjectNumbersAreNeverGivenTwiceNorReserved) {
  BlockCache cache(kCost);
  const std::uint64_t first = cache.new_objects(3);
  const std::uint64_t second = cache.new_objects();
  EXPECT_GE(second, first + 3);
  EXPECT_NE(cache.new_objects(), second);
  EXPECT_LT(second, BlockCache::kFirstReservedObject);
}

TEST(BlockCacheTest, IsUsedFromManyThreads) {
  BlockCache cache(20 * kCost);
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&cache, seed] {
      for (std::uint64_t i = 0; i < 5000; ++i) {
        const BlockKey key{cache.new_objects() % 3, (i * (seed + 7)) % 50};
        if (cache.find(key, 0, 10) == nullptr) {
          cache.put(key, block(), 0, 10);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_LE(cache.counts().bytes, 20 * kCost);
  EXPECT_EQ(cache.counts().hits + cache.counts().misses, 20000U);
}

}  // namespace
}  // namespace npyfs
