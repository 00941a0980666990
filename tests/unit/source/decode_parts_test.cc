// The pieces that a decoder keeps its knowledge in, one by one.
#include <atomic>
#include <latch>
#include <stdexcept>

#include <signal.h>

#include <gtest/gtest.h>

#include "npyfs/source/cancel.h"

#include "source/block_memory.h"
#include "source/coverage.h"
#include "source/decode_pool.h"
#include "source/decode_shared.h"
#include "source/decoded_member.h"
#include "source/forward_readers.h"
#include "source/idle_cursors.h"
#include "source/restart_points.h"
#include "source/soundness.h"
#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;

RestartPointPtr point(std::uint64_t position, std::size_t size = 1000) {
  return std::make_shared<RestartPoint>(RestartPoint{position, std::vector<std::byte>(size)});
}

constexpr std::uint64_t kPointCost = sizeof(RestartPoint) + 1000;

TEST(RestartPointsTest, FindsTheLastOneAtOrBefore) {
  RestartPoints points(100 * kPointCost);
  points.add(1, 10, point(10));
  points.add(1, 10, point(30));
  EXPECT_EQ(points.nearest(1, 9), nullptr);
  EXPECT_EQ(points.nearest(1, 29)->position, 10U);
  EXPECT_EQ(points.nearest(1, 30)->position, 30U);
  EXPECT_EQ(points.nearest(2, 30), nullptr);
  EXPECT_EQ(points.positions(1, 10, 30, 9), std::vector<std::uint64_t>{10});
  EXPECT_EQ(points.positions(1, 0, 99, 1), std::vector<std::uint64_t>{10});
}

TEST(RestartPointsTest, WantsWhatLiesOnTheGridAndIsMissing) {
  RestartPoints points(100 * kPointCost);
  EXPECT_FALSE(points.wants(1, 10, 0)) << "the front needs none";
  EXPECT_FALSE(points.wants(1, 10, 15));
  EXPECT_TRUE(points.wants(1, 10, 20));
  points.add(1, 10, point(20));
  EXPECT_FALSE(points.wants(1, 10, 20));
}

TEST(RestartPointsTest, WhenFullTheMemberWithTheMostKeepsEverySecond) {
  RestartPoints points(10 * kPointCost);
  points.add(2, 10, point(10));
  points.add(2, 10, point(20));
  for (std::uint64_t i = 1; i <= 9; ++i) {
    points.add(1, 10, point(10 * i));
  }
  EXPECT_EQ(points.positions(1, 0, 1000, 99), (std::vector<std::uint64_t>{20, 40, 60, 80}));
  EXPECT_EQ(points.positions(2, 0, 1000, 99).size(), 2U);
  EXPECT_FALSE(points.wants(1, 10, 90)) << "not what was just dropped";
  EXPECT_TRUE(points.wants(1, 10, 100));
}

TEST(RestartPointsTest, AmongMembersOfOneEachTheLongestUnusedGives) {
  RestartPoints points(3 * kPointCost);
  for (std::uint64_t member = 1; member <= 3; ++member) {
    points.add(member, 10, point(10));
  }
  points.nearest(1, 10);
  points.add(4, 10, point(10));
  EXPECT_NE(points.nearest(1, 10), nullptr);
  EXPECT_EQ(points.nearest(2, 10), nullptr);
  EXPECT_EQ(points.counts().points, 3U);
  EXPECT_EQ(points.counts().bytes, 3 * kPointCost);
}

TEST(RestartPointsTest, ABudgetOfNothingKeepsNothing) {
  RestartPoints points(0);
  points.add(1, 10, point(10));
  EXPECT_EQ(points.counts().points, 0U);
}

class CursorAt final : public Cursor {
 public:
  explicit CursorAt(std::uint64_t position) : position_(position) {}
  std::uint64_t position() const override { return position_; }
  void produce(std::span<std::byte>) override {}
  void finish() override {}

 private:
  std::uint64_t position_;
};

TEST(BlockMemoryTest, IsUsedAgain) {
  const auto memory = std::make_shared<BlockMemory>();
  const std::byte* const address = [&] { return memory->make(kBlock)->data(); }();
  EXPECT_EQ(memory->make(kBlock)->data(), address);
  const auto held = memory->make(kBlock);
  const auto other = memory->make(kBlock);
  EXPECT_NE(held->data(), other->data());
}

TEST(BlockMemoryTest, KeepsFewThatNobodyUses) {
  const auto memory = std::make_shared<BlockMemory>();
  std::vector<std::shared_ptr<Block>> blocks;
  for (std::size_t i = 0; i < 2 * BlockMemory::kMostFree; ++i) {
    blocks.push_back(memory->make(kBlock));
    std::ranges::fill(*blocks.back(), static_cast<std::byte>(i));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(std::ranges::count(*blocks[i], static_cast<std::byte>(i)),
              static_cast<std::ptrdiff_t>(kBlock));
  }
  EXPECT_EQ(memory->free_count(), 0U);
  blocks.clear();
  EXPECT_EQ(memory->free_count(), BlockMemory::kMostFree);
}

TEST(BlockMemoryTest, PreparesAFewBlocksAtMost) {
  const auto memory = std::make_shared<BlockMemory>();
  memory->prepare();
  EXPECT_EQ(memory->free_count(), 1U);
  for (int i = 0; i < 100; ++i) {
    memory->prepare();
  }
  EXPECT_LE(memory->free_count(), BlockMemory::kMostFree);
  const std::size_t ready = memory->free_count();
  const auto block = memory->make(kBlock);
  EXPECT_EQ(memory->free_count(), ready - 1);
}

TEST(BlockMemoryTest, ShortBlocksComeFromElsewhere) {
  const auto memory = std::make_shared<BlockMemory>();
  EXPECT_EQ(memory->make(10)->size(), 10U);
  EXPECT_EQ(memory->free_count(), 0U);
}

TEST(BlockMemoryTest, BlocksMayOutliveIt) {
  auto memory = std::make_shared<BlockMemory>();
  const auto block = memory->make(kBlock);
  memory.reset();
  std::ranges::fill(*block, std::byte{1});
  EXPECT_EQ(block->data()[kBlock - 1], std::byte{1});
}

TEST(BlockMemoryTest, ABlockThatWasCutComesBackWhole) {
  const auto memory = std::make_shared<BlockMemory>();
  memory->make(kBlock)->cut(5);
  EXPECT_EQ(memory->make(kBlock)->size(), kBlock);
}

TEST(IdleCursorsTest, TakesTheNearestInTheRange) {
  IdleCursors cursors;
  for (const std::uint64_t position : {10U, 30U, 20U}) {
    cursors.park(1, std::make_unique<CursorAt>(position));
  }
  EXPECT_EQ(cursors.take(1, 0, 9), nullptr);
  EXPECT_EQ(cursors.take(1, 21, 29), nullptr);
  EXPECT_EQ(cursors.take(2, 0, 99), nullptr);
  EXPECT_TRUE(cursors.has(1, 20));
  EXPECT_EQ(cursors.take(1, 0, 29)->position(), 20U);
  EXPECT_FALSE(cursors.has(1, 20));
  EXPECT_EQ(cursors.take(1, 0, 29)->position(), 10U);
}

TEST(IdleCursorsTest, KeepsFourOfAMemberAndSixteenInAll) {
  IdleCursors cursors;
  for (std::uint64_t position = 0; position < 6; ++position) {
    cursors.park(1, std::make_unique<CursorAt>(position));
  }
  EXPECT_EQ(cursors.count(), 4U);
  EXPECT_FALSE(cursors.has(1, 1));
  EXPECT_TRUE(cursors.has(1, 2));
  cursors.park(1, std::make_unique<CursorAt>(2));
  EXPECT_EQ(cursors.count(), 4U) << "two in one place are one too many";
  EXPECT_TRUE(cursors.has(1, 3));
  for (std::uint64_t member = 2; member < 30; ++member) {
    cursors.park(member, std::make_unique<CursorAt>(0));
  }
  EXPECT_EQ(cursors.count(), 16U);
  EXPECT_FALSE(cursors.has(1, 2));
}

TEST(CoverageTest, CombinesBlocksInAnyOrder) {
  const std::vector<std::byte> bytes = noise_bytes(1000);
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2, 3, 4},
                                                {4, 3, 2, 1, 0},
                                                {0, 2, 4, 1, 3},
                                                {3, 1, 0, 4, 2}}) {
    Coverage coverage;
    for (const std::size_t i : order) {
      EXPECT_FALSE(coverage.whole(1000));
      EXPECT_FALSE(coverage.covers(200 * i + 100));
      coverage.add(200 * i, 200 * i + 200, crc32_of(Bytes(bytes).subspan(200 * i, 200)));
      EXPECT_TRUE(coverage.covers(200 * i));
      EXPECT_TRUE(coverage.covers(200 * i + 199));
    }
    EXPECT_EQ(coverage.whole(1000), crc32_of(bytes));
    EXPECT_FALSE(coverage.whole(1001));
  }
}

TEST(SoundnessTest, TheFirstDamageCounts) {
  Soundness soundness(10 * kBlock, std::nullopt);
  EXPECT_NO_THROW(soundness.throw_if_unsound(10 * kBlock));
  EXPECT_TRUE(soundness.note(5 * kBlock, Damage("late")));
  EXPECT_TRUE(soundness.note(2 * kBlock + 9, Damage("early")));
  EXPECT_FALSE(soundness.note(2 * kBlock + 7, Damage("early, seen from elsewhere")));
  EXPECT_NO_THROW(soundness.throw_if_unsound(2 * kBlock + 7));
  try {
    soundness.throw_if_unsound(2 * kBlock + 8);
    FAIL();
  } catch (const Damage& damage) {
    EXPECT_STREQ(damage.what(), "early");
  }
  EXPECT_TRUE(soundness.is_broken_at(2 * kBlock + 7));
}

TEST(ForwardReadersTest, TellsThoseThatGoForwardFromThoseThatJump) {
  ForwardReaders readers;
  EXPECT_FALSE(readers.goes_forward(0, 0));
  EXPECT_FALSE(readers.goes_forward(0, 0)) << "the same block in several requests";
  EXPECT_TRUE(readers.goes_forward(0, 1));
  EXPECT_TRUE(readers.goes_forward(1, 1));
  EXPECT_TRUE(readers.goes_forward(3, 3)) << "a request overtook another";
  EXPECT_TRUE(readers.goes_forward(2, 2));
  for (const std::uint64_t block : {50U, 20U, 80U, 40U, 70U}) {
    EXPECT_FALSE(readers.goes_forward(block, block)) << block;
  }
  EXPECT_TRUE(readers.goes_forward(100, 103)) << "a long read";
}

TEST(ForwardReadersTest, FollowsSeveralAtOnce) {
  ForwardReaders readers;
  for (const std::uint64_t begin : {0U, 100U, 200U, 300U}) {
    readers.goes_forward(begin, begin);
  }
  for (const std::uint64_t begin : {0U, 100U, 200U, 300U}) {
    EXPECT_TRUE(readers.goes_forward(begin + 1, begin + 1));
  }
}

TEST(DecodePoolTest, RefusesWorkWhileNobodyIsIdle) {
  std::latch release(1);
  std::latch done(2);
  DecodePool pool(2);
  const auto work = [&] {
    release.wait();
    done.count_down();
  };
  EXPECT_TRUE(pool.offer(work));
  EXPECT_TRUE(pool.offer(work));
  EXPECT_FALSE(pool.offer(work));
  release.count_down();
  done.wait();
}

TEST(DecodePoolTest, WithoutThreadsAllWorkIsRefused) {
  DecodePool pool(0);
  EXPECT_FALSE(pool.offer([] {}));
}

TEST(DecodePoolTest, ItsThreadsLeaveTheSignalsThatEndAMountToOthers) {
  std::latch done(1);
  bool all_blocked = true;
  DecodePool pool(1);
  pool.offer([&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      all_blocked = all_blocked && sigismember(&mask, signal) == 1;
    }
    done.count_down();
  });
  done.wait();
  EXPECT_TRUE(all_blocked);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

TEST(DecodePoolTest, SurvivesWorkThatThrows) {
  DecodePool pool(1);
  EXPECT_TRUE(pool.offer([] { throw std::runtime_error("broken"); }));
  std::latch done(1);
  while (!pool.offer([&] { done.count_down(); })) {
    std::this_thread::yield();
  }
  done.wait();
}

TEST(DecodePoolTest, StoppingCancelsWhatIsUnderWay) {
  std::latch begun(1);
  std::atomic<bool> ended{false};
  DecodePool pool(1);
  pool.offer([&] {
    begun.count_down();
    while (!is_cancelled()) {
      std::this_thread::yield();
    }
    ended = true;
  });
  begun.wait();
  pool.stop();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(pool.offer([] {}));
}

class MemberTableTest : public testing::Test {
 protected:
  std::shared_ptr<DecodedMember> open(std::uint64_t id) {
    return shared_.members.open(
        id, [&] { return std::make_shared<DecodedMember>(shared_, id, 1000, std::nullopt); });
  }
  std::shared_ptr<DecodedMember> open_damaged(std::uint64_t id) {
    auto member = open(id);
    member->set_codec(inflate());
    EXPECT_THROW(member->block(0, 0, 1000), Damage);
    return member;
  }
  static std::unique_ptr<Codec> inflate();

  DecodeShared shared_{Decoder::Options{.threads = 0}};
};

class BrokenCodec final : public Codec {
 public:
  std::unique_ptr<Cursor> start() const override { throw_damage("broken"); }
};

std::unique_ptr<Codec> MemberTableTest::inflate() { return std::make_unique<BrokenCodec>(); }

TEST_F(MemberTableTest, OpensShareOneMember) {
  const auto one = open(1);
  const auto two = open(1);
  EXPECT_EQ(one, two);
  shared_.members.close(1);
  EXPECT_EQ(open(1), one);
}

TEST_F(MemberTableTest, AMemberThatNothingIsKnownOfIsForgotten) {
  for (std::uint64_t id = 0; id < 10000; ++id) {
    open(id);
    shared_.members.close(id);
  }
  EXPECT_EQ(shared_.members.size(), 0U);
}

TEST_F(MemberTableTest, FaultyOnesAreRememberedUpToABound) {
  for (std::uint64_t id = 0; id < MemberTable::kMostClosed + 100; ++id) {
    open_damaged(id);
    shared_.members.close(id);
  }
  EXPECT_EQ(shared_.members.size(), MemberTable::kMostClosed);
}

}  // namespace
}  // namespace npyfs
