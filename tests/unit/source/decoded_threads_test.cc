// Several threads at one member: who waits, who carries on, who is called off.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "npyfs/source/cancel.h"
#include "npyfs/source/decoded.h"

#include "support/deflate_bytes.h"
#include "support/reading.h"
#include "support/waiting.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Decoder::Options readers_only(std::uint64_t cache_bytes = 64 * kMiB) {
  return {.cache_bytes = cache_bytes, .threads = 0};
}

// Decodes to `plain` itself; has no restart points. Counts, and may be made to wait before a block.
class PlainCodec final : public Codec {
 public:
  struct Log {
    std::atomic<int> starts{0};
    std::atomic<std::uint64_t> produced{0};
    std::atomic<std::uint64_t> gate{UINT64_MAX};  // position that no cursor passes
    std::atomic<int> at_gate{0};
  };

  PlainCodec(const std::vector<std::byte>& plain, Log& log) : plain_(plain), log_(log) {}

  std::unique_ptr<Cursor> start() const override {
    ++log_.starts;
    return std::make_unique<PlainCursor>(plain_, log_);
  }

 private:
  class PlainCursor final : public Cursor {
   public:
    PlainCursor(const std::vector<std::byte>& plain, Log& log) : plain_(plain), log_(log) {}
    std::uint64_t position() const override { return position_; }
    void produce(std::span<std::byte> dst) override {
      if (position_ == log_.gate) {
        ++log_.at_gate;
        log_.at_gate.notify_all();
        log_.gate.wait(position_);
      }
      std::ranges::copy(Bytes(plain_).subspan(position_, dst.size()), dst.begin());
      position_ += dst.size();
      log_.produced += dst.size();
    }
    void finish() override {}

   private:
    const std::vector<std::byte>& plain_;
    Log& log_;
    std::uint64_t position_ = 0;
  };

  const std::vector<std::byte>& plain_;
  Log& log_;
};

class DecodedThreadsTest : public testing::Test {
 protected:
  SourcePtr open(Decoder& decoder) {
    return decoder.open(1, plain_.size(), crc32_of(plain_),
                        [this] { return std::make_unique<PlainCodec>(plain_, log_); });
  }
  bool reads_right(const Source& source, std::uint64_t offset, std::size_t length) {
    return std::ranges::equal(read_bytes(source, offset, length),
                              Bytes(plain_).subspan(offset, length));
  }
  void close_gate(std::uint64_t position) { log_.gate = position; }
  void wait_at_gate() { log_.at_gate.wait(0); }
  void open_gate() {
    log_.gate = UINT64_MAX;
    log_.gate.notify_all();
  }

  std::vector<std::byte> plain_ = noise_bytes(10 * kMiB);
  PlainCodec::Log log_;
};

TEST_F(DecodedThreadsTest, WithoutRestartPointsForwardReadsGoOnAndABackwardOneStartsAgain) {
  Decoder decoder(readers_only(4 * kMiB));
  const SourcePtr source = open(decoder);
  read_through(*source);
  EXPECT_EQ(log_.starts, 1);
  EXPECT_TRUE(reads_right(*source, 1000, 1000));
  EXPECT_EQ(log_.starts, 2);
  EXPECT_TRUE(reads_right(*source, 2 * kMiB, 1000));
  EXPECT_EQ(log_.starts, 2);
  EXPECT_EQ(decoder.counts().restart_points, 0U);
}

TEST_F(DecodedThreadsTest, ThreadsThatWantTheSameBlockDecodeItOnce) {
  Decoder decoder(readers_only());
  const SourcePtr source = open(decoder);
  close_gate(3 * kBlock);
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&, i] {
      right += reads_right(*source, (3 + static_cast<unsigned>(i) % 2) * kBlock, 100);
    });
  }
  wait_at_gate();
  wait_until([&] { return decoder.counts().waits >= 7; });
  open_gate();
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(right, 8);
  EXPECT_EQ(log_.produced, 5 * kBlock);
  EXPECT_EQ(log_.starts, 1);
}

TEST_F(DecodedThreadsTest, ACancelledReaderFailsAndWhoWaitedForItCarriesOn) {
  Decoder decoder(readers_only());
  const SourcePtr source = open(decoder);
  close_gate(3 * kBlock);
  std::atomic<bool> cancelled{false};
  int first_errno = 0;
  std::thread first([&] {
    const CancelScope scope([&] { return cancelled.load(); });
    first_errno = errno_of(*source, 20 * kBlock, 1);
  });
  wait_at_gate();
  bool second_right = false;
  std::thread second([&] { second_right = reads_right(*source, 20 * kBlock, 1000); });
  wait_until([&] { return decoder.counts().waits == 1; });
  cancelled = true;
  open_gate();
  first.join();
  second.join();
  EXPECT_EQ(first_errno, EINTR);
  EXPECT_TRUE(second_right);
  EXPECT_EQ(log_.produced, 21 * kBlock) << "from where the first one left off";
}

TEST_F(DecodedThreadsTest, AReaderThatWaitsCanBeCancelledToo) {
  Decoder decoder(readers_only());
  const SourcePtr source = open(decoder);
  close_gate(3 * kBlock);
  std::thread first([&] { EXPECT_TRUE(reads_right(*source, 5 * kBlock, 1)); });
  wait_at_gate();
  std::atomic<bool> cancelled{false};
  std::thread second([&] {
    const CancelScope scope([&] { return cancelled.load(); });
    EXPECT_EQ(errno_of(*source, 4 * kBlock, 1), EINTR);
  });
  wait_until([&] { return decoder.counts().waits == 1; });
  cancelled = true;
  second.join();
  open_gate();
  first.join();
}

TEST_F(DecodedThreadsTest, AForwardReaderGetsTheNextBlocksDecodedAhead) {
  Decoder decoder({.cache_bytes = 64 * kMiB, .threads = 1});
  const SourcePtr source = open(decoder);
  read_bytes(*source, 0, 1000);
  EXPECT_EQ(decoder.counts().decoded_blocks, 1U) << "one block is no direction yet";
  read_bytes(*source, kBlock, 1000);
  wait_until([&] { return decoder.counts().decoded_ahead == 4; });
  EXPECT_TRUE(source->at_hand(2 * kBlock, 4 * kBlock));
  EXPECT_EQ(decoder.counts().decoded_blocks, 6U);
}

TEST_F(DecodedThreadsTest, AForwardReaderWaitsForTheThreadAheadAndDoesNotForestallIt) {
  Decoder decoder({.cache_bytes = 64 * kMiB, .threads = 1});
  const SourcePtr source = open(decoder);
  close_gate(2 * kBlock);
  read_bytes(*source, 0, 1);
  read_bytes(*source, kBlock, 1);
  wait_at_gate();
  std::thread reader([&] { EXPECT_TRUE(reads_right(*source, 2 * kBlock, 4 * kBlock)); });
  wait_until([&] { return decoder.counts().waits == 1; });
  open_gate();
  reader.join();
  decoder.stop_threads();
  const Decoder::Counts counts = decoder.counts();
  EXPECT_EQ(counts.decoded_blocks - counts.decoded_ahead, 2U) << "those before the gate";
  EXPECT_EQ(log_.starts, 1);
}

TEST_F(DecodedThreadsTest, AForwardReaderAndTheThreadAheadDecodeEachBlockOnce) {
  for (int i = 0; i < 20; ++i) {
    Decoder decoder({.cache_bytes = 64 * kMiB, .threads = 1});
    const SourcePtr source = open(decoder);
    read_through(*source, kBlock);
    EXPECT_EQ(decoder.counts().decoded_blocks, 40U);
  }
}

TEST_F(DecodedThreadsTest, DecodingAheadEndsWithTheDecoder) {
  SourcePtr source;
  {
    Decoder decoder({.cache_bytes = 64 * kMiB, .threads = 2});
    source = open(decoder);
    read_bytes(*source, 0, 3 * kBlock);
  }
  EXPECT_TRUE(reads_right(*source, 6 * kMiB, kMiB));
}

}  // namespace
}  // namespace npyfs
