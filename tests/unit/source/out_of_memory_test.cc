// Memory runs out in the middle of a read, at every place where it can: who wants it gets an error,
// and whoever waits for what that one was making carries on.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "npyfs/source/cancel.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/transpose.h"

#include "support/deflate_bytes.h"
#include "support/reading.h"
#include "support/waiting.h"

namespace {

// How many more allocations of this thread succeed; the next one fails, and then all do again.
thread_local int left = -1;

}  // namespace

// Of the whole test program; the forms not defined here end up in these.
void* operator new(std::size_t size) {
  if (left == 0) {
    left = -1;
    throw std::bad_alloc();
  }
  left -= left > 0 ? 1 : 0;
  void* const bytes = std::malloc(size == 0 ? 1 : size);
  if (bytes == nullptr) {
    throw std::bad_alloc();
  }
  return bytes;
}
void operator delete(void* bytes) noexcept { std::free(bytes); }
void operator delete(void* bytes, std::size_t) noexcept { std::free(bytes); }

namespace npyfs {
namespace {

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;

// Something that threads wait for.
class Gate {
 public:
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void pass() {
    ++at_gate_;
    open_.wait(false);
  }
  bool has_somebody() const { return at_gate_ > 0; }

 private:
  std::atomic<bool> open_ = false;
  std::atomic<int> at_gate_ = 0;
};

// Whether the source reads as `plain`; false, too, if that takes two minutes.
bool reads_as(const Source& source, Bytes plain) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const CancelScope scope([patience] { return std::chrono::steady_clock::now() > patience; });
  std::vector<std::byte> bytes(plain.size());
  try {
    source.read(0, bytes);
  } catch (const Error&) {
    return false;
  }
  return std::ranges::equal(bytes, plain);
}

// Reads all of it; false if its thread was left with too few allocations.
bool reads_with(const Source& source) {
  std::vector<std::byte> bytes(source.size());
  try {
    source.read(0, bytes);
    return std::exchange(left, -1) >= 0;  // none failed
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Decodes to `plain` itself. Once it has passed the gate before the second block, its thread has
// only so many allocations.
class PlainCodec final : public Codec {
 public:
  PlainCodec(Bytes plain, Gate& gate, int allocations)
      : plain_(plain), gate_(gate), allocations_(allocations) {}
  std::unique_ptr<Cursor> start() const override { return std::make_unique<PlainCursor>(*this); }

 private:
  class PlainCursor final : public Cursor {
   public:
    explicit PlainCursor(const PlainCodec& codec) : codec_(codec) {}
    std::uint64_t position() const override { return position_; }
    void produce(std::span<std::byte> dst) override {
      if (position_ == kBlock && !codec_.gate_.has_somebody()) {
        codec_.gate_.pass();
        left = codec_.allocations_;
      }
      std::ranges::copy(codec_.plain_.subspan(position_, dst.size()), dst.begin());
      position_ += dst.size();
    }
    void finish() override {}
    std::unique_ptr<RestartPoint> save() override {
      return std::make_unique<RestartPoint>(RestartPoint{position_, std::vector<std::byte>(100)});
    }

   private:
    const PlainCodec& codec_;
    std::uint64_t position_ = 0;
  };

  const Bytes plain_;
  Gate& gate_;
  const int allocations_;
};

TEST(OutOfMemoryTest, WhoWaitsForADecodedBlockCarriesOn) {
  const auto plain = noise_bytes(6 * kBlock);
  bool enough = false;
  for (int allocations = 0; !enough; ++allocations) {
    ASSERT_LT(allocations, 500);
    Decoder decoder({.cache_bytes = 64 * kBlock, .threads = 0});
    Gate gate;
    const SourcePtr source = decoder.open(1, plain.size(), crc32_of(plain), [&] {
      return std::make_unique<PlainCodec>(plain, gate, allocations);
    });
    std::thread reader([&] { enough = reads_with(*source); });
    wait_until([&] { return gate.has_somebody(); });
    std::atomic<bool> right = false;
    std::thread waiter([&] { right = reads_as(*source, plain); });
    wait_until([&] { return decoder.counts().waits > 0; });
    gate.open();
    reader.join();
    waiter.join();
    EXPECT_TRUE(right) << "after " << allocations << " allocations";
    EXPECT_LE(decoder.counts().cache.bytes, 6 * (kBlock + BlockCache::kBlockOverhead));
  }
}

TEST(OutOfMemoryTest, WhoMeetsAWaitingReaderWithNoMemoryLeavesNothingBehind) {
  const auto plain = noise_bytes(6 * kBlock);
  bool enough = false;
  for (int allocations = 0; !enough; ++allocations) {
    ASSERT_LT(allocations, 500);
    Decoder decoder({.cache_bytes = 64 * kBlock, .threads = 0});
    Gate gate;
    const SourcePtr source = decoder.open(1, plain.size(), crc32_of(plain), [&] {
      return std::make_unique<PlainCodec>(plain, gate, -1);
    });
    std::atomic<bool> right = false;
    std::thread reader([&] { right = reads_as(*source, plain); });
    wait_until([&] { return gate.has_somebody(); });
    std::atomic<bool> over = false;
    std::thread waiter([&] {
      std::byte last{};
      left = allocations;
      try {
        source->read(2 * kBlock, {&last, 1});
        enough = std::exchange(left, -1) >= 0;
      } catch (const std::bad_alloc&) {
        // as it should
      }
      over = true;
    });
    wait_until([&] { return over || decoder.counts().waits > 0; });
    gate.open();
    reader.join();
    waiter.join();
    EXPECT_TRUE(right) << "after " << allocations << " allocations";
  }
}

// Memory whose reader has only so many allocations once the first has passed the gate.
class SlowSource final : public Source {
 public:
  SlowSource(Bytes plain, Gate& gate, int allocations)
      : plain_(plain), gate_(gate), allocations_(allocations) {}
  std::uint64_t size() const override { return plain_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (!gate_.has_somebody()) {
      gate_.pass();
      left = allocations_;
    }
    std::ranges::copy(plain_.subspan(offset, dst.size()), dst.begin());
  }

 private:
  const Bytes plain_;
  Gate& gate_;
  const int allocations_;
};

TEST(OutOfMemoryTest, WhoWaitsForATileCarriesOn) {
  constexpr std::uint64_t kSide = 600;
  const auto plain = noise_bytes(kSide * kSide);
  std::vector<std::byte> turned(plain.size());
  for (std::size_t i = 0; i < turned.size(); ++i) {
    turned[i] = plain[i % kSide * kSide + i / kSide];
  }
  bool enough = false;
  for (int allocations = 0; !enough; ++allocations) {
    ASSERT_LT(allocations, 2000);
    const auto cache = std::make_shared<BlockCache>(64 * kBlock);
    Gate gate;
    const SourcePtr source = c_order(std::make_shared<SlowSource>(plain, gate, allocations),
                                     {kSide, kSide}, 1, cache, cache->new_objects());
    std::thread reader([&] { enough = reads_with(*source); });
    wait_until([&] { return gate.has_somebody(); });
    std::atomic<bool> right = false;
    std::thread waiter([&] { right = reads_as(*source, turned); });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // it may be waiting by then
    gate.open();
    reader.join();
    waiter.join();
    EXPECT_TRUE(right) << "after " << allocations << " allocations";
  }
}

}  // namespace
}  // namespace npyfs
