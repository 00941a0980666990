#include "fuse/server.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/cancel.h"

#include "support/waiting.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;
constexpr std::uint64_t kSoundBlocks = 20;

// Zeros, and then a break, at which a cursor waits until it is called off.
class BreakingCodec final : public Codec {
 public:
  explicit BreakingCodec(std::atomic<bool>& at_break) : at_break_(at_break) {}
  std::unique_ptr<Cursor> start() const override {
    return std::make_unique<BreakingCursor>(at_break_);
  }

 private:
  class BreakingCursor final : public Cursor {
   public:
    explicit BreakingCursor(std::atomic<bool>& at_break) : at_break_(at_break) {}
    std::uint64_t position() const override { return position_; }
    void produce(std::span<std::byte> dst) override {
      if (position_ == kSoundBlocks * kBlock) {
        at_break_ = true;
        wait_until([] { return is_cancelled(); });
        throw_damage("it breaks here");
      }
      std::ranges::fill(dst, std::byte{0});
      position_ += dst.size();
    }
    void finish() override {}

   private:
    std::atomic<bool>& at_break_;
    std::uint64_t position_ = 0;
  };

  std::atomic<bool>& at_break_;
};

TEST(ServerTest, NothingIsReportedToItOnceItHasStopped) {
  Decoder::Options one_thread;
  one_thread.threads = 1;
  const auto decoder = std::make_shared<Decoder>(one_thread);
  std::atomic<bool> at_break = false;
  const SourcePtr member = decoder->open(1, 2 * kSoundBlocks * kBlock, std::nullopt,
                                         [&] { return std::make_unique<BreakingCodec>(at_break); });
  Server server(CatalogBuilder(0).finish(), decoder, MountOptions(), [] {});
  server.start(nullptr);
  // What is decoded ahead of this reader breaks; the thread may be busy at its last blocks once.
  wait_until([&] {
    for (std::uint64_t block = 0; block < kSoundBlocks && !at_break; ++block) {
      read_bytes(*member, block * kBlock, kBlock);
    }
    return at_break.load();
  });
  server.stop();
  EXPECT_THAT(server.tree().faults().all(), testing::SizeIs(1)) << "what was on its way has come";
  decoder->stop_threads();  // whatever `stop` did: the thread refers to this test
}

}  // namespace
}  // namespace npyfs
