#include "npyfs/source/compose.h"

#include <atomic>
#include <climits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/counting_source.h"
#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string text(const Source& source, std::uint64_t offset, std::size_t length) {
  const auto bytes = read_bytes(source, offset, length);
  return std::string(text_view(bytes));
}

std::string all(const Source& source) { return text(source, 0, source.size()); }

// Of any size, with nothing in it.
class Hollow final : public Source {
 public:
  explicit Hollow(std::uint64_t size, bool at_hand = true) : size_(size), at_hand_(at_hand) {}
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t, std::span<std::byte>) const override {}
  bool at_hand(std::uint64_t, std::uint64_t) const override { return at_hand_; }

 private:
  std::uint64_t size_;
  bool at_hand_;
};

TEST(MemoryTest, LendsItselfAndOutlivesItsPointer) {
  SourcePtr source = memory(std::string("abcdef"));
  Gather gather(4);
  source->gather(1, 4, gather);
  source.reset();
  ASSERT_EQ(gather.spans().size(), 1U);
  EXPECT_EQ(std::string(static_cast<const char*>(gather.spans()[0].iov_base), 4), "bcde");
}

TEST(ReadBytesTest, RefusesARangeThatIsNotInside) {
  const SourcePtr source = memory(std::string("abc"));
  EXPECT_EQ(text(*source, 3, 0), "");
  EXPECT_THAT([&] { read_bytes(*source, 2, 2); },
              ThrowsMessage<Error>(HasSubstr("run past the end at 3")));
  EXPECT_THAT([&] { read_bytes(*source, UINT64_MAX, 2); },
              ThrowsMessage<Error>(HasSubstr("run past")));
}

TEST(SliceTest, IsThatRange) {
  const SourcePtr whole = memory(std::string("0123456789"));
  EXPECT_EQ(all(*slice(whole, 2, 5)), "23456");
  EXPECT_EQ(all(*slice(whole, 10, 0)), "");
  EXPECT_EQ(text(*slice(whole, 2, 5), 1, 3), "345");
}

TEST(SliceTest, RefusesARangeThatIsNotInside) {
  const SourcePtr whole = memory(std::string("0123456789"));
  EXPECT_THAT([&] { slice(whole, 5, 6); },
              ThrowsMessage<Error>(HasSubstr("run past the end at 10")));
  EXPECT_THAT([&] { slice(whole, 11, 0); }, ThrowsMessage<Error>(HasSubstr("run past")));
  EXPECT_THAT([&] { slice(whole, 2, UINT64_MAX); }, ThrowsMessage<Error>(HasSubstr("run past")));
  EXPECT_THAT([&] { slice(slice(whole, 2, 5), 3, 3); }, ThrowsMessage<Error>(HasSubstr("at 5")));
}

TEST(SliceTest, OfASliceReadsTheInnermostSource) {
  const auto counting = std::make_shared<CountingSource>(memory(std::string("0123456789")));
  SourcePtr source = counting;
  for (int i = 0; i < 4; ++i) {
    source = slice(source, 1, source->size() - 1);
  }
  EXPECT_EQ(all(*source), "456789");
  ASSERT_EQ(counting->reads().size(), 1U);
  EXPECT_EQ(counting->reads()[0].offset, 4U);
}

TEST(SliceTest, OfEverythingIsTheSourceItself) {
  const SourcePtr whole = memory(std::string("0123456789"));
  EXPECT_EQ(slice(whole, 0, 10), whole);
  EXPECT_NE(slice(whole, 0, 9), whole);
}

TEST(SliceTest, IsAsMuchAtHandAsTheWhole) {
  const SourcePtr far = slice(std::make_shared<Hollow>(100, false), 10, 10);
  EXPECT_FALSE(far->at_hand(0, 10));
  EXPECT_TRUE(slice(std::make_shared<Hollow>(100), 10, 10)->at_hand(0, 10));
}

TEST(ConcatTest, OfNothingIsEmptyAndOfOneIsThatOne) {
  EXPECT_EQ(concat({})->size(), 0U);
  EXPECT_EQ(concat({memory(std::string()), memory(std::string())})->size(), 0U);
  const SourcePtr one = memory(std::string("a"));
  EXPECT_EQ(concat({memory(std::string()), one, memory(std::string())}), one);
}

TEST(ConcatTest, AnyRangeIsRight) {
  const auto plain = noise_bytes(997);
  std::vector<SourcePtr> parts;
  std::mt19937 random(7);
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t size = std::min<std::size_t>(random() % 90, plain.size() - at);
    const Bytes part = Bytes(plain).subspan(at, size);
    parts.push_back(memory(std::vector<std::byte>(part.begin(), part.end())));
    at += size;
  }
  const SourcePtr whole = concat(std::move(parts));
  ASSERT_EQ(whole->size(), plain.size());
  for (int i = 0; i < 500; ++i) {
    const std::size_t offset = random() % (plain.size() + 1);
    const std::size_t length = random() % (plain.size() - offset + 1);
    ASSERT_EQ(text(*whole, offset, length), text_view(Bytes(plain).subspan(offset, length)));
  }
}

TEST(ConcatTest, ReadsOnlyThePartsThatAreWanted) {
  std::vector<std::shared_ptr<CountingSource>> parts;
  for (const char c : {'a', 'b', 'c', 'd'}) {
    parts.push_back(std::make_shared<CountingSource>(memory(std::string(10, c))));
  }
  EXPECT_EQ(text(*concat({parts.begin(), parts.end()}), 15, 10), "bbbbbccccc");
  EXPECT_TRUE(parts[0]->reads().empty());
  EXPECT_EQ(parts[1]->reads().size(), 1U);
  EXPECT_EQ(parts[2]->reads().size(), 1U);
  EXPECT_TRUE(parts[3]->reads().empty());
}

TEST(ConcatTest, IsAtHandIfEveryPartOfTheRangeIs) {
  const SourcePtr whole =
      concat({memory(std::string(10, 'h')), std::make_shared<Hollow>(100, false)});
  EXPECT_TRUE(whole->at_hand(0, 10));
  EXPECT_FALSE(whole->at_hand(0, 11));
  EXPECT_FALSE(whole->at_hand(50, 1));
  EXPECT_TRUE(whole->at_hand(110, 0));
}

TEST(ConcatTest, RefusesMoreThanAFileCanHave) {
  const auto half = std::make_shared<Hollow>(std::uint64_t{1} << 62);
  EXPECT_THAT([&] { concat({half, half}); }, ThrowsMessage<Error>(HasSubstr("2^63")));
  EXPECT_EQ(concat({half, std::make_shared<Hollow>((std::uint64_t{1} << 62) - 1)})->size(),
            std::uint64_t{INT64_MAX});
}

}  // namespace
}  // namespace npyfs
