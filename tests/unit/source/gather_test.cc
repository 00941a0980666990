#include "npyfs/source/gather.h"

#include <algorithm>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

std::string bytes_in(const Gather& gather) {
  std::string bytes;
  for (const iovec& span : gather.spans()) {
    bytes.append(static_cast<const char*>(span.iov_base), span.iov_len);
  }
  return bytes;
}

void fill(std::span<std::byte> dst, char c) { std::ranges::fill(dst, static_cast<std::byte>(c)); }

TEST(GatherTest, KeepsTheOrderOfWhatIsLentAndCopied) {
  Gather gather(100);
  gather.lend(bytes_of("abc"), nullptr);
  fill(gather.scratch(2), 'd');
  gather.lend(bytes_of("ef"), nullptr);
  fill(gather.scratch(1), 'g');
  EXPECT_EQ(bytes_in(gather), "abcddefg");
  EXPECT_EQ(gather.size(), 8U);
  EXPECT_EQ(gather.spans().size(), 4U);
}

TEST(GatherTest, LendsWithoutCopying) {
  const std::string text = "lent";
  Gather gather(100);
  gather.lend(bytes_of(text), nullptr);
  ASSERT_EQ(gather.spans().size(), 1U);
  EXPECT_EQ(gather.spans()[0].iov_base, text.data());
}

TEST(GatherTest, PiecesOfScratchInARowAreOneSpan) {
  Gather gather(1000);
  for (int i = 0; i < 500; ++i) {
    fill(gather.scratch(2), 'x');
  }
  EXPECT_EQ(gather.spans().size(), 1U);
  EXPECT_EQ(bytes_in(gather), std::string(1000, 'x'));
}

TEST(GatherTest, NothingLentIsNoSpan) {
  Gather gather(10);
  gather.lend({}, nullptr);
  EXPECT_TRUE(gather.scratch(0).empty());
  EXPECT_TRUE(gather.spans().empty());
}

TEST(GatherTest, KeepsOwnersAlive) {
  auto owner = std::make_shared<const std::string>("lent");
  const std::weak_ptr<const std::string> alive = owner;
  {
    Gather gather(10);
    gather.lend(bytes_of(*owner), owner);
    owner.reset();
    EXPECT_FALSE(alive.expired());
    EXPECT_EQ(bytes_in(gather), "lent");
  }
  EXPECT_TRUE(alive.expired());
}

TEST(GatherTest, IsFullBeforeTheKernelsLimitAndStillTakesScratch) {
  Gather gather(10'000);
  while (!gather.full()) {
    gather.lend(bytes_of("a"), nullptr);
  }
  for (int i = 0; i < 3000; ++i) {
    fill(gather.scratch(3), 'b');
  }
  EXPECT_EQ(gather.spans().size(), Gather::kMostSpans);
  EXPECT_EQ(bytes_in(gather), std::string(Gather::kMostSpans - 1, 'a') + std::string(9000, 'b'));
}

TEST(GatherTest, ThousandsOfTinyPartsNeverPassTheLimitAndTheBytesAreRight) {
  constexpr std::size_t kParts = 5000;
  const auto plain = noise_bytes(kParts * 3);
  std::vector<SourcePtr> parts;
  for (std::size_t i = 0; i < kParts; ++i) {
    const Bytes part = Bytes(plain).subspan(3 * i, 3);
    parts.push_back(memory(std::vector<std::byte>(part.begin(), part.end())));
  }
  const SourcePtr whole = concat(std::move(parts));
  for (const std::size_t offset : {0U, 1U, 2U, 7000U, 14'999U, 15'000U}) {
    for (const std::size_t length : {0U, 1U, 254U * 3, 255U * 3, 256U * 3, 15'000U}) {
      const std::size_t piece = std::min(length, plain.size() - offset);
      Gather gather(piece);
      whole->gather(offset, piece, gather);
      ASSERT_LE(gather.spans().size(), Gather::kMostSpans);
      ASSERT_EQ(gather.size(), piece);
      ASSERT_EQ(bytes_in(gather), text_view(Bytes(plain).subspan(offset, piece)));
    }
  }
}

}  // namespace
}  // namespace npyfs
