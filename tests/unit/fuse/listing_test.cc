#include "fuse/listing.h"

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace npyfs {
namespace {

// A directory of 100 entries, "0" to "99", whose offset is their number.
class ListingTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kCount = 100;

  void make(std::uint64_t offset, const Listing::Take& take) {
    for (std::uint64_t i = offset; i < kCount; ++i) {
      if (i == fails_at_) {
        throw std::bad_alloc();
      }
      ++made_;
      if (!take({std::to_string(i), {}, i + 1})) {
        return;
      }
    }
  }

  // The names of a page with room for `room`. `made_` is then how many were made before the reply.
  std::vector<std::string> page(std::uint64_t offset, std::size_t room) {
    std::vector<std::string> names;
    std::uint64_t made = 0;
    made_ = 0;
    listing_.page(
        offset,
        [&](const Listing::Entry& entry) {
          if (names.size() == room) {
            return false;
          }
          names.push_back(entry.name);
          return true;
        },
        [&] {
          ++replies_;
          made = made_;
        });
    made_ = made;
    return names;
  }

  static std::vector<std::string> names(std::uint64_t begin, std::uint64_t end) {
    std::vector<std::string> all;
    for (std::uint64_t i = begin; i < end; ++i) {
      all.push_back(std::to_string(i));
    }
    return all;
  }

  std::uint64_t made_ = 0;
  int replies_ = 0;
  std::optional<std::uint64_t> fails_at_;
  Listing listing_{[this](std::uint64_t offset, const Listing::Take& take) { make(offset, take); }};
};

TEST_F(ListingTest, TheNextPageIsReadyWhenItIsAskedFor) {
  EXPECT_EQ(page(0, 40), names(0, 40));
  EXPECT_EQ(made_, 41u) << "one more to see that there is no room for it";
  EXPECT_EQ(page(40, 40), names(40, 80));
  EXPECT_EQ(made_, 1u);
  EXPECT_EQ(page(80, 40), names(80, 100));
  EXPECT_EQ(made_, 0u);
  EXPECT_EQ(page(100, 40), names(0, 0));
  EXPECT_EQ(replies_, 4);
}

TEST_F(ListingTest, APageMayBeLargerOrSmallerThanTheLast) {
  EXPECT_EQ(page(0, 10), names(0, 10));
  EXPECT_EQ(page(10, 3), names(10, 13));
  EXPECT_EQ(page(13, 50), names(13, 63));
  EXPECT_EQ(page(63, 37), names(63, 100));
}

TEST_F(ListingTest, MayGoOnAnywhere) {
  EXPECT_EQ(page(0, 10), names(0, 10));
  EXPECT_EQ(page(0, 10), names(0, 10)) << "rewinddir";
  EXPECT_EQ(page(50, 10), names(50, 60));
  EXPECT_EQ(page(10, 10), names(10, 20));
  EXPECT_EQ(page(60, 10), names(60, 70));
}

TEST_F(ListingTest, NothingIsMadeAheadOnceAllIsTold) {
  std::uint64_t made_in_all = 0;
  listing_.page(
      0, [](const Listing::Entry&) { return true; }, [&] { made_in_all = made_; });
  EXPECT_EQ(made_in_all, kCount);
  EXPECT_EQ(made_, kCount) << "after the reply, too";
}

TEST_F(ListingTest, NoRoomForOneEntryIsAnEmptyPage) {
  EXPECT_EQ(page(0, 0), names(0, 0));
  EXPECT_EQ(replies_, 1);
  EXPECT_EQ(page(0, 5), names(0, 5));
}

TEST_F(ListingTest, AFaultAfterTheReplyIsMetWhenItMatters) {
  fails_at_ = 30;
  EXPECT_EQ(page(0, 20), names(0, 20)) << "the fault was met when making 20 ahead";
  EXPECT_EQ(page(20, 5), names(20, 25)) << "what came before it can be had";
  EXPECT_THROW(page(25, 20), std::bad_alloc);
  EXPECT_EQ(replies_, 2);
  fails_at_.reset();
  EXPECT_EQ(page(25, 20), names(25, 45));
}

}  // namespace
}  // namespace npyfs
