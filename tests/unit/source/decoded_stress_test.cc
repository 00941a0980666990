// Many readers of many members through a cache too small for them, some called off in the middle.
// What counts is that every byte is right, nobody hangs, and ThreadSanitizer has nothing to say.
#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "npyfs/source/cancel.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/inflate.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::size_t kReaders = 16;

struct Member {
  std::vector<std::byte> plain;
  std::vector<std::byte> compressed = deflate_bytes(plain, {.level = 1});
};

class DecodedStressTest : public testing::Test {
 protected:
  DecodedStressTest() {
    for (unsigned i = 0; i < 8; ++i) {
      const std::size_t size = (1 + i) * kMiB + 1234 * i;  // some small, some not
      members_.push_back({i % 2 == 0 ? sparse_bytes(size, i) : weight_bytes(size, i)});
    }
  }

  SourcePtr open(Decoder& decoder, std::size_t i) const {
    const Member& member = members_[i];
    return decoder.open(i, member.plain.size(), crc32_of(member.plain),
                        [&member] { return inflate_codec(memory(member.compressed)); });
  }

  // One read or gather, compared. False if it was called off.
  bool try_read(const Source& source, std::size_t i, std::uint64_t offset, std::size_t length,
                bool by_gather) {
    const Bytes expected = Bytes(members_[i].plain).subspan(offset, length);
    try {
      if (!by_gather) {
        wrong_ += std::ranges::equal(read_bytes(source, offset, length), expected) ? 0 : 1;
        return true;
      }
      Gather gather(length);
      source.gather(offset, length, gather);
      std::size_t at = 0;
      for (const iovec& span : gather.spans()) {
        wrong_ += std::memcmp(span.iov_base, &expected[at], span.iov_len) == 0 ? 0 : 1;
        at += span.iov_len;
      }
      wrong_ += at == length ? 0 : 1;
      return true;
    } catch (const Error& error) {
      wrong_ += error.errno_value() == EINTR ? 0 : 1;
      return false;
    }
  }

  void read_for_a_while(Decoder& decoder, unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 6; ++round) {
      const std::size_t i = random() % members_.size();
      const SourcePtr source = open(decoder, i);
      // Called off after that many blocks were looked at; most never.
      int patience = random() % 4 == 0 ? static_cast<int>(random() % 20) : 1 << 30;
      const CancelScope scope([&patience] { return --patience < 0; });
      const std::uint64_t size = source->size();
      if (seed % 2 == 0) {
        for (std::uint64_t at = random() % size; at < size; at += 131072) {
          source->at_hand(at, 1);
          if (!try_read(*source, i, at, std::min<std::uint64_t>(131072, size - at),
                        seed % 4 == 0)) {
            break;
          }
        }
      } else {
        for (int n = 0; n < 25; ++n) {
          const std::uint64_t at = random() % size;
          const std::size_t most = n == 0 ? 4 * kMiB : 9000;
          try_read(*source, i, at, std::min<std::uint64_t>(1 + random() % most, size - at),
                   n % 2 == 0);
        }
      }
    }
  }

  void run(const Decoder::Options& options) {
    Decoder decoder(options);
    std::atomic<int> faults{0};
    decoder.on_fault([&faults](std::uint64_t, int, const std::string&, bool) { ++faults; });
    std::vector<std::thread> readers;
    for (unsigned seed = 0; seed < kReaders; ++seed) {
      readers.emplace_back([&, seed] { read_for_a_while(decoder, seed); });
    }
    for (std::thread& reader : readers) {
      reader.join();
    }
    EXPECT_EQ(wrong_, 0);
    EXPECT_EQ(faults, 0);
    const Decoder::Counts counts = decoder.counts();
    EXPECT_GT(counts.cache.evicted, 0U);
    EXPECT_LE(counts.cache.bytes, options.cache_bytes);
    EXPECT_LE(counts.restart_bytes, options.restart_bytes);
    EXPECT_LE(counts.idle_cursors, 16U);
  }

  std::vector<Member> members_;
  std::atomic<int> wrong_{0};
};

TEST_F(DecodedStressTest, SixteenReadersGetTheRightBytesWithThreadsThatDecodeAhead) {
  run({.cache_bytes = 8 * kMiB, .restart_bytes = kMiB, .threads = 3});
}

TEST_F(DecodedStressTest, SixteenReadersGetTheRightBytesAlone) {
  run({.cache_bytes = 6 * kMiB, .restart_bytes = 64 * kMiB, .threads = 0});
}

TEST_F(DecodedStressTest, TheDecoderMayGoWhileReadersAreAtIt) {
  auto decoder = std::make_unique<Decoder>(
      Decoder::Options{.cache_bytes = 8 * kMiB, .restart_bytes = kMiB, .threads = 3});
  std::vector<SourcePtr> sources;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    sources.push_back(open(*decoder, i));
  }
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    readers.emplace_back([&, i] {
      for (std::uint64_t at = 0; at < sources[i]->size(); at += 100000) {
        try_read(*sources[i], i, at, std::min<std::uint64_t>(100000, sources[i]->size() - at),
                 true);
      }
    });
  }
  decoder.reset();
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(wrong_, 0);
}

}  // namespace
}  // namespace npyfs
