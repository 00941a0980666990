#include "npyfs/source/decoded.h"

#include <random>

#include <gtest/gtest.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "support/deflate_bytes.h"
#include "support/reading.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Decoder::Options readers_only(std::uint64_t cache_bytes = 64 * kMiB) {
  return {.cache_bytes = cache_bytes, .threads = 0};
}

// A member, deflated, with the size and CRC that its archive would declare.
struct Member {
  std::vector<std::byte> plain;
  std::vector<std::byte> compressed = deflate_bytes(plain, {.level = 1});
  std::uint64_t size = plain.size();
  std::uint32_t crc32 = crc32_of(plain);

  SourcePtr open(Decoder& decoder, std::uint64_t id = 1) const {
    return decoder.open(id, size, crc32, [this] { return inflate_codec(memory(compressed)); });
  }
  bool reads_right(const Source& source, std::uint64_t offset, std::size_t length) const {
    return std::ranges::equal(read_bytes(source, offset, length),
                              Bytes(plain).subspan(offset, length));
  }
};

Member weights(std::size_t size, unsigned seed = 1) { return {.plain = weight_bytes(size, seed)}; }
Member sparse(std::size_t size, unsigned seed = 1) { return {.plain = sparse_bytes(size, seed)}; }

TEST(DecodedTest, ReadsAnyRange) {
  Decoder decoder(readers_only());
  std::mt19937 random(1);
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1000}, kBlock, kBlock + 1, 3 * kMiB + 77, 9 * kMiB}) {
    const Member member = weights(size);
    const SourcePtr source = member.open(decoder, size);
    ASSERT_EQ(source->size(), size);
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t offset = random() % size;
      const std::size_t length = random() % std::min<std::uint64_t>(size - offset + 1, 2 * kMiB);
      ASSERT_TRUE(member.reads_right(*source, offset, length)) << offset << " " << length;
    }
  }
}

TEST(DecodedTest, GatherLendsTheDecodedBlocks) {
  Decoder decoder(readers_only());
  const Member member = weights(3 * kMiB);
  const SourcePtr source = member.open(decoder);
  Gather gather(kMiB);
  source->gather(100, kMiB, gather);
  EXPECT_EQ(gather.size(), kMiB);
  EXPECT_EQ(gather.spans().size(), 5U);
  Bytes expected = Bytes(member.plain).subspan(100, kMiB);
  for (const iovec& span : gather.spans()) {
    ASSERT_EQ(std::memcmp(span.iov_base, expected.data(), span.iov_len), 0);
    expected = expected.subspan(span.iov_len);
  }
}

TEST(DecodedTest, GatherCopiesWhenTheReplyHasNoSpanLeft) {
  Decoder decoder(readers_only());
  const Member member = weights(2 * kBlock);
  const SourcePtr source = member.open(decoder);
  Gather gather(kMiB);
  const auto owner = std::make_shared<std::vector<std::byte>>(1);
  while (!gather.full()) {
    gather.lend(*owner, owner);
  }
  source->gather(kBlock - 10, 20, gather);
  EXPECT_EQ(gather.spans().size(), Gather::kMostSpans);
  EXPECT_EQ(std::memcmp(gather.spans().back().iov_base, &member.plain[kBlock - 10], 20), 0);
}

TEST(DecodedTest, AnEmptyMemberHasNothingToRead) {
  Decoder decoder(readers_only());
  const Member member{.plain = {}};
  const SourcePtr source = member.open(decoder);
  EXPECT_EQ(source->size(), 0U);
  EXPECT_TRUE(source->at_hand(0, 0));
  EXPECT_EQ(errno_of(*source, 0, 0), 0);
}

TEST(DecodedTest, ASecondPassOverAMemberThatFitsDecodesNothing) {
  Decoder decoder(readers_only());
  const Member member = weights(9 * kMiB);
  read_through(*member.open(decoder));
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
  read_through(*member.open(decoder));
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
}

TEST(DecodedTest, ARandomReadAfterOnePassDecodesAtMostOneSpacing) {
  Decoder decoder(readers_only(4 * kMiB));
  const Member member = weights(24 * kMiB);
  const SourcePtr source = member.open(decoder);
  read_through(*source);
  EXPECT_EQ(decoder.counts().restart_points, 23U);
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random() % (member.size / 4096) * 4096;
    const std::uint64_t before = decoder.counts().decoded_bytes;
    ASSERT_TRUE(member.reads_right(*source, offset, 4096));
    ASSERT_LE(decoder.counts().decoded_bytes - before, kMiB);
  }
}

TEST(DecodedTest, TheFirstTouchOfTheLastRowDecodesTheWayThereOnce) {
  Decoder decoder(readers_only());
  const Member member = weights(12 * kMiB);
  const SourcePtr source = member.open(decoder);
  ASSERT_TRUE(member.reads_right(*source, member.size - 4096, 4096));
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
  ASSERT_TRUE(member.reads_right(*source, member.size - 8192, 8192));
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
}

TEST(DecodedTest, InterleavedForwardReadersDecodeEachByteOnceOrTwice) {
  Decoder decoder(readers_only(4 * kMiB));
  const Member member = weights(24 * kMiB);
  const SourcePtr source = member.open(decoder);
  const std::uint64_t half = member.size / 2;
  for (std::uint64_t at = 0; at < half; at += 131072) {
    ASSERT_TRUE(member.reads_right(*source, at, 131072));
    ASSERT_TRUE(member.reads_right(*source, half + at, 131072));
  }
  EXPECT_LE(decoder.counts().decoded_bytes, 2 * member.size);
}

TEST(DecodedTest, ASmallMemberIsDecodedWhole) {
  Decoder decoder(readers_only());
  const Member member = weights(4 * kMiB);
  const SourcePtr source = member.open(decoder);
  ASSERT_TRUE(member.reads_right(*source, 2 * kMiB, 1));
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
  read_through(*source);
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
  EXPECT_EQ(decoder.counts().restart_points, 0U);
}

TEST(DecodedTest, AtHandIsWhatTakesNoMoreThanOneBlock) {
  Decoder decoder(readers_only());
  const Member member = weights(12 * kMiB);
  const SourcePtr source = member.open(decoder);
  EXPECT_TRUE(source->at_hand(0, 4096));
  EXPECT_FALSE(source->at_hand(0, kBlock + 1)) << "two blocks";
  EXPECT_FALSE(source->at_hand(kBlock, 1)) << "the way there";
  read_bytes(*source, 0, kBlock);
  EXPECT_TRUE(source->at_hand(0, kBlock + 1)) << "one is cached, a cursor stands before the other";
  EXPECT_FALSE(source->at_hand(8 * kMiB, 1));
  read_bytes(*source, member.size - 1, 1);
  EXPECT_TRUE(source->at_hand(5 * kMiB, 1)) << "a restart point";
  EXPECT_FALSE(source->at_hand(5 * kMiB + kBlock, 1));
  const Member small = weights(kMiB, 2);
  const SourcePtr whole = small.open(decoder, 2);
  EXPECT_FALSE(whole->at_hand(0, 1)) << "it is decoded whole";
  read_bytes(*whole, 0, 1);
  EXPECT_TRUE(whole->at_hand(0, kMiB));
}

TEST(DecodedTest, OpensOfOneMemberShareWhatIsKnown) {
  Decoder decoder(readers_only());
  const Member member = weights(12 * kMiB);
  int made = 0;
  const auto open = [&] {
    return decoder.open(5, member.size, member.crc32, [&] {
      ++made;
      return inflate_codec(memory(member.compressed));
    });
  };
  {
    const SourcePtr one = open();
    const SourcePtr two = open();
    EXPECT_EQ(made, 1);
    read_through(*one);
    read_through(*two);
  }
  read_through(*open());
  EXPECT_EQ(made, 2) << "a closed member lets go of its source";
  EXPECT_EQ(decoder.counts().decoded_bytes, member.size);
}

TEST(DecodedTest, ASourceMayOutliveTheDecoder) {
  const Member member = weights(5 * kMiB);
  SourcePtr source;
  {
    Decoder decoder;
    source = member.open(decoder);
  }
  EXPECT_TRUE(member.reads_right(*source, 3 * kMiB, 100000));
}

TEST(DecodedTest, WhatMakingACodecThrowsPassesThrough) {
  Decoder decoder(readers_only());
  EXPECT_THROW(decoder.open(1, 10, 0, []() -> std::unique_ptr<Codec> { throw_unsupported("no"); }),
               Error);
  const Member member = weights(100);
  EXPECT_TRUE(member.reads_right(*member.open(decoder), 0, 100));
}

TEST(DecodedTest, RestartPointsStayInTheirBudget) {
  Decoder decoder({.cache_bytes = 4 * kMiB, .restart_bytes = kMiB, .threads = 0});
  std::vector<Member> members;
  for (unsigned i = 0; i < 3; ++i) {
    members.push_back(sparse((16 + 16 * i) * kMiB, i + 1));
    read_through(*members.back().open(decoder, i + 1));
    EXPECT_LE(decoder.counts().restart_bytes, kMiB);
  }
  EXPECT_GE(decoder.counts().restart_points, 8U);
  for (unsigned i = 0; i < 3; ++i) {
    const SourcePtr source = members[i].open(decoder, i + 1);
    const std::uint64_t before = decoder.counts().decoded_bytes;
    ASSERT_TRUE(members[i].reads_right(*source, members[i].size - 5000, 4096));
    EXPECT_LE(decoder.counts().decoded_bytes - before, members[i].size / 2) << "each kept some";
  }
}

TEST(DecodedTest, MemoryStaysInBoundsWhileAHugeMemberIsReadAtRandom) {
  Decoder decoder({.cache_bytes = 8 * kMiB, .restart_bytes = 2 * kMiB, .threads = 1});
  const Member member = sparse(160 * kMiB);
  const SourcePtr source = member.open(decoder);
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(member.reads_right(*source, random() % (member.size - 4096), 4096));
    const Decoder::Counts counts = decoder.counts();
    ASSERT_LE(counts.cache.bytes, 8 * kMiB);
    ASSERT_LE(counts.restart_bytes, 2 * kMiB);
    ASSERT_LE(counts.idle_cursors, 4U);
  }
}

TEST(DecodedTest, ABigRangeIsSharedOutToIdleThreadsOnceRestartPointsAreKnown) {
  Decoder decoder({.cache_bytes = 64 * kMiB, .threads = 2});
  const Member member = weights(20 * kMiB);
  const SourcePtr source = member.open(decoder);
  ASSERT_TRUE(member.reads_right(*source, member.size - 1, 1));  // leaves points, keeps few blocks
  const std::uint64_t before = decoder.counts().decoded_ahead;
  ASSERT_TRUE(member.reads_right(*source, 0, member.size));
  EXPECT_GT(decoder.counts().decoded_ahead, before);
  EXPECT_GT(decoder.counts().restarts, 0U);
}

}  // namespace
}  // namespace npyfs
