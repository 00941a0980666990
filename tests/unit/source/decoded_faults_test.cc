// Streams that lie or break, seen through a decoded member.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/inflate.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class DecodedFaultsTest : public testing::Test {
 protected:
  DecodedFaultsTest() {
    decoder_.on_fault(
        [this](std::uint64_t member, int errno_value, const std::string& text, bool was_read) {
          EXPECT_FALSE(was_read) << "nobody gets bytes behind a fault";
          EXPECT_EQ(member, 1U);
          EXPECT_EQ(errno_value, EIO);
          faults_.push_back(text);
        });
  }

  SourcePtr open(std::uint64_t size, std::optional<std::uint32_t> crc32) {
    return decoder_.open(1, size, crc32, [this] { return inflate_codec(memory(compressed_)); });
  }
  SourcePtr open() { return open(plain_.size(), crc32_of(plain_)); }
  bool reads_right(const Source& source, std::uint64_t offset, std::size_t length) {
    return std::ranges::equal(read_bytes(source, offset, length),
                              Bytes(plain_).subspan(offset, length));
  }
  // In pieces, until one fails.
  std::uint64_t sound_bytes(const Source& source, std::size_t piece) {
    std::uint64_t at = 0;
    try {
      for (; at < source.size(); at += piece) {
        const std::size_t length = std::min<std::uint64_t>(piece, source.size() - at);
        EXPECT_TRUE(reads_right(source, at, length)) << at;
      }
    } catch (const Damage&) {
    }
    return at;
  }

  Decoder decoder_{{.cache_bytes = 64 * kMiB, .threads = 0}};
  std::vector<std::byte> plain_ = weight_bytes(6 * kMiB + 1000);
  std::vector<std::byte> compressed_ = deflate_bytes(plain_, {.level = 1});
  std::vector<std::string> faults_;
};

TEST_F(DecodedFaultsTest, ASoundMemberHasNone) {
  EXPECT_EQ(sound_bytes(*open(), 131072), 6 * kMiB + 1024 * 128);
  EXPECT_TRUE(faults_.empty());
}

TEST_F(DecodedFaultsTest, AStreamThatEndsEarlyFailsFromThereOn) {
  const std::uint64_t real = plain_.size();
  plain_.resize(10 * kMiB);
  const SourcePtr source = open(plain_.size(), std::nullopt);
  EXPECT_TRUE(reads_right(*source, real - 1000, 1000)) << "all that is there can be read";
  EXPECT_THAT([&] { read_bytes(*source, real - 1000, 1001); },
              ThrowsMessage<Damage>(AllOf(HasSubstr("ends after 6292456 bytes"),
                                          StartsWith("10485760 bytes are declared, but the"),
                                          EndsWith("; fetch or write it again"))));
  EXPECT_THROW(read_bytes(*source, 9 * kMiB, 1), Damage);
  EXPECT_EQ(sound_bytes(*source, 8), real);
  EXPECT_EQ(faults_.size(), 1U);
}

TEST_F(DecodedFaultsTest, ATerabyteThatIsOnlyDeclaredCostsNothing) {
  const SourcePtr source = open(std::uint64_t{1} << 40, 0);
  EXPECT_THROW(read_bytes(*source, std::uint64_t{1} << 39, 4096), Damage);
  const std::uint64_t decoded = decoder_.counts().decoded_bytes;
  EXPECT_LE(decoded, plain_.size());
  for (std::uint64_t offset = kMiB * 7; offset < std::uint64_t{1} << 40;
       offset += std::uint64_t{1} << 33) {
    EXPECT_TRUE(source->at_hand(offset, 4096));
    EXPECT_THROW(read_bytes(*source, offset, 4096), Damage);
  }
  EXPECT_EQ(decoder_.counts().decoded_bytes, decoded) << "what is known isn't tried again";
  EXPECT_TRUE(reads_right(*source, 0, kMiB));
}

TEST_F(DecodedFaultsTest, ASizeThatNoFileHasIsRefused) { EXPECT_THROW(open(UINT64_MAX, 0), Error); }

TEST_F(DecodedFaultsTest, BytesPastTheDeclaredSizeSpoilTheLastBlock) {
  const SourcePtr source = open(5 * kMiB + 10, crc32_of(Bytes(plain_).first(5 * kMiB + 10)));
  EXPECT_TRUE(reads_right(*source, 0, 5 * kMiB));
  EXPECT_THAT([&] { read_bytes(*source, 5 * kMiB, 1); },
              ThrowsMessage<Damage>(HasSubstr("goes on past the declared 5242890 bytes")));
  EXPECT_TRUE(reads_right(*source, 0, 5 * kMiB));
  EXPECT_EQ(faults_.size(), 1U);
}

TEST_F(DecodedFaultsTest, ASmallMemberThatGoesOnIsSpoiltToo) {
  plain_ = weight_bytes(1000);
  compressed_ = deflate_bytes(plain_);
  const SourcePtr source = open(999, std::nullopt);
  EXPECT_THROW(read_bytes(*source, 0, 1), Damage);
}

TEST_F(DecodedFaultsTest, ADamagedStreamIsReadUpToTheDamage) {
  compressed_ = deflate_bytes(plain_, {.level = 0});
  // Stored bytes carry no redundancy; what can be seen to break is a block's length.
  std::size_t header = 0;  // of the first block in the second half
  while (header < compressed_.size() / 2) {
    const auto length = std::to_integer<std::size_t>(compressed_[header + 1]) |
                        std::to_integer<std::size_t>(compressed_[header + 2]) << 8;
    header += 5 + length;
  }
  compressed_[header + 3] ^= std::byte{1};
  const SourcePtr source = open();
  const std::uint64_t sound = [&] {
    for (std::uint64_t at = 0;; at += 4096) {
      try {
        read_bytes(*source, at, 4096);
      } catch (const Damage&) {
        return at;
      }
    }
  }();
  EXPECT_NEAR(static_cast<double>(sound), 3.0 * kMiB, 100000);
  EXPECT_THROW(read_bytes(*source, plain_.size() - 1, 1), Damage);
  EXPECT_THROW(read_bytes(*open(), 5 * kMiB, 1), Damage);
  EXPECT_EQ(faults_.size(), 1U);
  EXPECT_THAT(faults_, testing::ElementsAre(HasSubstr("is damaged after")));
}

TEST_F(DecodedFaultsTest, AReaderThatWentThroughTheWholeMemberHearsThatItsCrcDiffers) {
  const SourcePtr source = open(plain_.size(), 0x00C0FFEE);
  EXPECT_EQ(sound_bytes(*source, 131072), 6 * kMiB);
  EXPECT_THAT(faults_, testing::ElementsAre(AllOf(HasSubstr("CRC-32 is 0x"),
                                                  HasSubstr("the archive says 0x00c0ffee"))));
  EXPECT_TRUE(reads_right(*source, 0, 6 * kMiB)) << "the rest is still readable";
  EXPECT_THROW(read_bytes(*open(plain_.size(), 0x00C0FFEE), 6 * kMiB, 1), Damage) << "also later";
  EXPECT_EQ(faults_.size(), 1U);
}

TEST_F(DecodedFaultsTest, TheCrcIsPutTogetherInAnyOrder) {
  const SourcePtr good = open();
  for (std::uint64_t block = 24; block-- > 0;) {
    EXPECT_TRUE(reads_right(*good, block * kBlock, kBlock));
  }
  EXPECT_TRUE(reads_right(*good, 24 * kBlock, 1000));
  EXPECT_TRUE(faults_.empty());
}

TEST_F(DecodedFaultsTest, APartialReadChecksNoCrc) {
  const SourcePtr source = open(plain_.size(), 1);
  EXPECT_TRUE(reads_right(*source, 3 * kMiB, kMiB));
  EXPECT_TRUE(faults_.empty());
}

TEST_F(DecodedFaultsTest, AMemberWithoutCrcIsNotCompared) {
  EXPECT_EQ(sound_bytes(*open(plain_.size(), std::nullopt), 131072), 6 * kMiB + 131072);
}

class SometimesStale final : public Source {
 public:
  SometimesStale(SourcePtr whole, const bool& stale) : whole_(std::move(whole)), stale_(stale) {}
  std::uint64_t size() const override { return whole_->size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (stale_) {
      throw_error(ESTALE, "weights.npz is another file now");
    }
    whole_->read(offset, dst);
  }

 private:
  SourcePtr whole_;
  const bool& stale_;
};

TEST_F(DecodedFaultsTest, WhatTheFileThrowsPassesThroughAndIsForgotten) {
  bool stale = true;
  const SourcePtr source = decoder_.open(1, plain_.size(), crc32_of(plain_), [&] {
    return inflate_codec(std::make_shared<SometimesStale>(memory(compressed_), stale));
  });
  for (int i = 0; i < 2; ++i) {
    try {
      read_bytes(*source, 0, 1);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.errno_value(), ESTALE);
    }
  }
  stale = false;
  EXPECT_TRUE(reads_right(*source, 0, plain_.size()));
  EXPECT_TRUE(faults_.empty());
}

}  // namespace
}  // namespace npyfs
