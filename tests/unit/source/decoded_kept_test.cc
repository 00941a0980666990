// Decoders with a store: what one mount learns serves the next, and nothing in a file does harm.
#include <filesystem>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "source/kept_points.h"
#include "support/deflate_bytes.h"
#include "support/index_directory.h"
#include "support/restart_points.h"

namespace npyfs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSize = 12 * kMiB;

// A member as an archive would declare it; deflated once, since that takes the longest.
struct Member {
  std::vector<std::byte> plain = weight_bytes(kSize);
  std::vector<std::byte> compressed = deflate_bytes(plain, {.level = 1});
  std::uint32_t crc32 = crc32_of(plain);
};

const Member& member() {
  static const Member member;
  return member;
}

class DecodedKeptTest : public testing::Test {
 protected:
  // As another mount does: what it knows ends with it. Readers decode alone, so every count is
  // exact.
  std::unique_ptr<Decoder> mount(std::shared_ptr<const RestartStore> kept) {
    return std::make_unique<Decoder>(
        Decoder::Options{.cache_bytes = 64 * kMiB, .threads = 0, .store = std::move(kept)});
  }

  SourcePtr open(Decoder& decoder, const std::string& origin = "one",
                 std::uint32_t crc32 = member().crc32) {
    return decoder.open(1, kSize, crc32,
                        [&] { return inflate_codec(memory(member().compressed), origin); });
  }

  // Fills the store; returns the path of the one file in it.
  std::string pass() {
    const auto decoder = mount(index_.store());
    EXPECT_TRUE(read_bytes(*open(*decoder), 0, kSize) == member().plain);
    const auto found = index_.files();
    EXPECT_THAT(found, SizeIs(1));
    return found.at(0);
  }

  // Reads the last 4 KiB in a new mount. How much was decoded for it.
  std::uint64_t decoded_for_the_end() {
    const auto decoder = mount(index_.store());
    const auto end = read_bytes(*open(*decoder), kSize - 4096, 4096);
    EXPECT_TRUE(std::ranges::equal(end, Bytes(member().plain).last(4096)));
    return decoder->counts().decoded_bytes;
  }

  IndexDirectory index_;
};

TEST_F(DecodedKeptTest, TheNextMountStartsAtOnePointAndDecodesNoMoreThanOneSpacing) {
  pass();
  EXPECT_LE(decoded_for_the_end(), kMiB);
  EXPECT_THAT(index_.reports(), IsEmpty());
}

TEST_F(DecodedKeptTest, CountsWhatItSavedAndLoaded) {
  {
    const auto decoder = mount(index_.store());
    read_bytes(*open(*decoder), 0, kSize);
    EXPECT_EQ(decoder->counts().points_saved, kSize / kMiB - 1);
    EXPECT_EQ(decoder->counts().points_loaded, 0U);
  }
  const auto decoder = mount(index_.store());
  const auto source = open(*decoder);
  read_bytes(*source, 5 * kMiB, 10);
  read_bytes(*source, 9 * kMiB, 10);
  EXPECT_EQ(decoder->counts().points_loaded, 2U);
  EXPECT_EQ(decoder->counts().points_saved, 0U);
}

TEST_F(DecodedKeptTest, AReadAnywhereIsRightAfterARemount) {
  pass();
  const auto decoder = mount(index_.store());
  const auto source = open(*decoder);
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random() % (kSize - 5000);
    ASSERT_TRUE(std::ranges::equal(read_bytes(*source, offset, 5000),
                                   Bytes(member().plain).subspan(offset, 5000)))
        << offset;
  }
}

TEST_F(DecodedKeptTest, OpeningAMemberAsksNothingOfTheStore) {
  overwrite(pass(), "damaged");
  const auto decoder = mount(index_.store());
  const auto source = open(*decoder);
  EXPECT_THAT(index_.reports(), IsEmpty());
  read_bytes(*source, 0, 1);
  EXPECT_THAT(index_.reports(), SizeIs(1));
}

TEST_F(DecodedKeptTest, ThreadsThatDecodeAheadStartAtKeptPointsToo) {
  pass();
  Decoder decoder({.cache_bytes = 64 * kMiB, .threads = 2, .store = index_.store()});
  const auto source = open(decoder);
  EXPECT_TRUE(read_bytes(*source, 0, kSize) == member().plain);
  EXPECT_LE(decoder.counts().decoded_bytes, 2 * kSize);
}

TEST_F(DecodedKeptTest, APassThatStopsHalfwayIsKeptAndALaterOneAddsToIt) {
  {
    const auto decoder = mount(index_.store());
    read_bytes(*open(*decoder), 0, kSize / 2);
    EXPECT_EQ(decoder->counts().points_saved, 6U) << "that in the middle too";
  }
  {
    const auto decoder = mount(index_.store());
    read_bytes(*open(*decoder), kSize / 2, kSize / 2);
    EXPECT_EQ(decoder->counts().points_saved, 5U);
  }
  EXPECT_LE(decoded_for_the_end(), kMiB);
}

TEST_F(DecodedKeptTest, WhatIsStillOpenAtTheEndIsKept) {
  SourcePtr source;
  {
    const auto decoder = mount(index_.store());
    source = open(*decoder);
    read_bytes(*source, 0, kSize);
  }
  EXPECT_LE(decoded_for_the_end(), kMiB);
}

TEST_F(DecodedKeptTest, AWrongCrcIsFoundWhereverThePassBegan) {
  const std::uint32_t wrong = member().crc32 ^ 1;
  {
    const auto decoder = mount(index_.store());
    const auto source = open(*decoder, "one", wrong);
    read_bytes(*source, 0, kSize - kMiB);
  }
  const auto decoder = mount(index_.store());
  const auto source = open(*decoder, "one", wrong);
  EXPECT_NO_THROW(read_bytes(*source, 9 * kMiB, 2 * kMiB));
  EXPECT_NO_THROW(read_bytes(*source, 0, 9 * kMiB));
  EXPECT_THROW(read_bytes(*source, 11 * kMiB, kMiB), Error);
  EXPECT_THAT(index_.files(), IsEmpty()) << "the points may be why";
}

TEST_F(DecodedKeptTest, TheRightCrcHoldsWhereverThePassBegan) {
  pass();
  const auto decoder = mount(index_.store());
  const auto source = open(*decoder);
  read_bytes(*source, 9 * kMiB, 3 * kMiB);
  EXPECT_TRUE(read_bytes(*source, 0, kSize) == member().plain);
}

TEST_F(DecodedKeptTest, ACutFileChangesNothingButSpeed) {
  const std::string path = pass();
  const std::string whole = read_file(path);
  const std::size_t states = 11 * std::size_t{54000};
  std::set<std::size_t> lengths = {0, 1, 7, 8, 12, 23, 24, 25, 100};
  for (std::size_t length = 0; length < whole.size(); length += states / 9) {
    lengths.insert(length);
  }
  for (const std::size_t less : {1U, 2U, 100U}) {
    lengths.insert(whole.size() - less);
  }
  for (const std::size_t length : lengths) {
    overwrite(path, whole.substr(0, length));
    EXPECT_EQ(decoded_for_the_end(), kSize) << length;
  }
  overwrite(path, whole + '\0');
  EXPECT_EQ(decoded_for_the_end(), kSize);
}

TEST_F(DecodedKeptTest, AFlippedStateChangesNothingButSpeedAndIsMended) {
  const std::string path = pass();
  std::string bytes = read_file(path);
  bytes[bytes.size() - 30000] = static_cast<char>(bytes[bytes.size() - 30000] ^ 8);
  overwrite(path, bytes);
  EXPECT_EQ(decoded_for_the_end(), kSize);
  EXPECT_THAT(index_.reports(), ElementsAre(HasSubstr("removed")));
  EXPECT_LE(decoded_for_the_end(), kMiB);
}

TEST_F(DecodedKeptTest, AStateThatIsNoneIsRefusedThoughItsChecksumHolds) {
  const std::string key = inflate_codec(memory(member().compressed), "one")->restart_key();
  index_.store()->save(key, kSize, points_at({40, 44}, 54000));
  EXPECT_EQ(decoded_for_the_end(), kSize);
  EXPECT_LE(decoded_for_the_end(), kMiB);
}

TEST_F(DecodedKeptTest, TheKeyTellsStreamsApart) {
  const auto key = [](std::vector<std::byte> stream, const std::string& origin) {
    return inflate_codec(memory(std::move(stream)), origin)->restart_key();
  };
  const std::string own = key(member().compressed, "one");
  EXPECT_EQ(own, key(member().compressed, "one"));
  EXPECT_NE(own, key(member().compressed, "other"));
  EXPECT_THAT(own, HasSubstr("isa-l 2."));
  for (const std::size_t at : {std::size_t{100}, member().compressed.size() - 100}) {
    auto changed = member().compressed;
    changed[at] ^= std::byte{1};
    EXPECT_NE(own, key(changed, "one"));
  }
  EXPECT_EQ(key(member().compressed, ""), "") << "nobody vouches for it";
}

TEST_F(DecodedKeptTest, WithoutAKeyNothingIsKept) {
  const auto decoder = mount(index_.store());
  read_bytes(*open(*decoder, ""), 0, kSize);
  EXPECT_THAT(index_.files(), IsEmpty());
}

TEST_F(DecodedKeptTest, FilesAndDirectoryAreForThisUserAlone) {
  const std::string path = pass();
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(index_.dir().path("index")).permissions(), fs::perms(0700));
}

TEST_F(DecodedKeptTest, AFileThatOthersCanWriteIsPassedOverAndReportedOnce) {
  const std::string path = pass();
  fs::permissions(path, fs::perms(0660));
  const auto kept = index_.store();
  const std::string key = inflate_codec(memory(member().compressed), "one")->restart_key();
  EXPECT_THAT(kept->find(key, kSize).entries(), IsEmpty());
  EXPECT_THAT(kept->find(key, kSize).entries(), IsEmpty());
  EXPECT_THAT(index_.reports(), ElementsAre(HasSubstr("not a file that only you can write")));
  EXPECT_EQ(decoded_for_the_end(), kSize);
}

TEST_F(DecodedKeptTest, ASymbolicLinkIsPassedOver) {
  const std::string path = pass();
  fs::rename(path, index_.dir().path("elsewhere"));
  fs::create_symlink(index_.dir().path("elsewhere"), path);
  EXPECT_EQ(decoded_for_the_end(), kSize);
  EXPECT_TRUE(fs::exists(index_.dir().path("elsewhere")));
}

}  // namespace
}  // namespace npyfs
