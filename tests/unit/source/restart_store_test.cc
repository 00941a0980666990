#include "npyfs/source/restart_store.h"

#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include <signal.h>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "source/kept_points.h"
#include "support/index_directory.h"
#include "support/restart_points.h"

namespace npyfs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;
constexpr std::uint64_t kSize = 48 * kBlock;

class RestartStoreTest : public testing::Test {
 protected:
  IndexDirectory index_;
};

std::vector<std::uint64_t> blocks_of(const KeptPoints& kept) {
  std::vector<std::uint64_t> blocks;
  for (const KeptPoints::Entry& entry : kept.entries()) {
    blocks.push_back(entry.position / kBlock);
  }
  return blocks;
}

TEST_F(RestartStoreTest, EveryBitOfTheFrontCounts) {
  const auto kept = index_.store();
  kept->save("key", kSize, points_at({4, 8, 12}));
  const std::string path = index_.files().at(0);
  const std::string whole = read_file(path);
  const std::size_t front = whole.size() - std::size_t{3} * 1000;
  ASSERT_THAT(blocks_of(kept->find("key", kSize)), ElementsAre(4, 8, 12));
  for (std::size_t bit = 0; bit < front * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    overwrite(path, flipped);
    ASSERT_THAT(kept->find("key", kSize).entries(), IsEmpty()) << bit;
  }
}

TEST_F(RestartStoreTest, EveryBitOfAStateCounts) {
  const auto kept = index_.store();
  kept->save("key", kSize, points_at({4, 8, 12}, 100));
  const std::string path = index_.files().at(0);
  const std::string whole = read_file(path);
  for (std::size_t bit = 0; bit < std::size_t{100} * 8; ++bit) {
    std::string flipped = whole;
    char& byte = flipped[whole.size() - 200 + bit / 8];
    byte = static_cast<char>(byte ^ 1 << bit % 8);
    overwrite(path, flipped);
    const KeptPoints points = kept->find("key", kSize);
    ASSERT_EQ(points.load(8 * kBlock), nullptr) << bit;
    ASSERT_NE(points.load(4 * kBlock), nullptr);
    ASSERT_NE(points.load(12 * kBlock), nullptr);
  }
}

TEST_F(RestartStoreTest, AnotherVersionIsPassedOver) {
  const auto kept = index_.store();
  kept->save("key", kSize, points_at({4}));
  const std::string path = index_.files().at(0);
  std::string bytes = read_file(path);
  bytes[8] = static_cast<char>(KeptPoints::kVersion + 1);
  overwrite(path, bytes);
  EXPECT_THAT(kept->find("key", kSize).entries(), IsEmpty());
  EXPECT_THAT(index_.reports(), IsEmpty()) << "nothing is wrong with it";
}

TEST_F(RestartStoreTest, AnotherKeyOrSizeFindsNothing) {
  const auto kept = index_.store();
  kept->save("key", kSize, points_at({4, 40}));
  const std::string path = index_.files().at(0);
  EXPECT_THAT(kept->find("yek", kSize).entries(), IsEmpty());
  EXPECT_THAT(kept->find("key", 40 * kBlock).entries(), IsEmpty()) << "a point past the end";
  kept->save("yek", kSize, points_at({4}));
  fs::remove(path);
  fs::rename(index_.files().at(0), path);
  EXPECT_THAT(kept->find("key", kSize).entries(), IsEmpty()) << "the name alone says nothing";
}

TEST_F(RestartStoreTest, StaysWithinItsBoundAndRemovesWhatWasUsedTheLongestAgo) {
  const auto kept = index_.store(40000);
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_EQ(kept->save(key, kSize, points_at({4}, 12000)), 1U);
    for (const std::string& path : index_.files()) {  // all a little older
      fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(10));
    }
  }
  EXPECT_THAT(kept->find("a", kSize).entries(), SizeIs(1)) << "now the latest used";
  EXPECT_EQ(kept->save("d", kSize, points_at({4}, 12000)), 1U);
  EXPECT_THAT(index_.files(), SizeIs(3));
  EXPECT_THAT(kept->find("a", kSize).entries(), SizeIs(1));
  EXPECT_THAT(kept->find("b", kSize).entries(), IsEmpty());
  EXPECT_EQ(kept->save("e", kSize, points_at({4}, 50000)), 0U) << "more than fits at all";
  EXPECT_THAT(index_.files(), SizeIs(3));
}

TEST_F(RestartStoreTest, RemovesNothingButItsOwnFiles) {
  const auto kept = index_.store(20000);
  const std::string digits(32, 'a');
  for (const std::string& name : {std::string("thesis.tex"), digits, digits + ".pointsX"}) {
    fs::last_write_time(index_.dir().write("index/" + name, noise_bytes(30000)),
                        fs::file_time_type::clock::now() - std::chrono::hours(99));
  }
  const std::string left =
      index_.dir().write("index/" + digits + ".points.12.tmp", noise_bytes(100));
  fs::permissions(left, fs::perms(0600));
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(kept->save("a", kSize, points_at({4})), 1U);
  EXPECT_THAT(index_.files(), SizeIs(4)) << "the three, and the new one";
  EXPECT_FALSE(fs::exists(left)) << "of a daemon that was killed";
}

TEST_F(RestartStoreTest, AWriteThatFailsLeavesNothingBehindAndIsReportedOnce) {
  const auto kept = index_.store();
  ASSERT_EQ(kept->save("key", kSize, points_at({4})), 1U);
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = before;
  limit.rlim_cur = 100000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(kept->save("key", kSize, points_at({8}, 200000)), 0U);
  EXPECT_EQ(kept->save("key", kSize, points_at({8}, 200000)), 0U);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_THAT(index_.reports(), ElementsAre(HasSubstr("File too large")));
  EXPECT_THAT(index_.files(), SizeIs(1));
  EXPECT_THAT(blocks_of(kept->find("key", kSize)), ElementsAre(4)) << "what was there is";
}

TEST_F(RestartStoreTest, ADirectoryThatTakesNoFilesIsReportedOnceAndDoesNoHarm) {
  std::vector<std::string> reports;
  const RestartStore kept("/proc/self", [&](const std::string& text) { reports.push_back(text); });
  EXPECT_EQ(kept.save("key", kSize, points_at({4})), 0U);
  EXPECT_EQ(kept.save("key", kSize, points_at({4})), 0U);
  EXPECT_THAT(kept.find("key", kSize).entries(), IsEmpty());
  EXPECT_EQ(reports.empty(), !kept.why_read_only().empty());
  EXPECT_LE(reports.size(), 1U);
}

TEST_F(RestartStoreTest, WhatCannotBeADirectoryIsAnError) {
  index_.dir().write("file", bytes_of("x"));
  EXPECT_THROW(RestartStore(index_.dir().path("file"), {}), Error);
  EXPECT_THROW(RestartStore(index_.dir().path("file/below"), {}), Error);
}

TEST_F(RestartStoreTest, TwoThatWriteAtOnceLoseNothing) {
  const auto one = index_.store();
  const auto other = index_.store();
  EXPECT_EQ(one->save("key", kSize, points_at({4, 12})), 2U);
  EXPECT_EQ(other->save("key", kSize, points_at({8, 12})), 1U);
  EXPECT_THAT(blocks_of(one->find("key", kSize)), ElementsAre(4, 8, 12));
  EXPECT_EQ(one->save("key", kSize, points_at({4, 8})), 0U) << "nothing new";

  std::vector<std::thread> writers;
  for (unsigned i = 0; i < 4; ++i) {
    writers.emplace_back([&, i] {
      for (std::uint64_t block = 1; block < 40; ++block) {
        (i % 2 == 0 ? one : other)->save("both", kSize, points_at({block}));
        const KeptPoints kept = one->find("both", kSize);
        for (const KeptPoints::Entry& entry : kept.entries()) {
          EXPECT_NE(kept.load(entry.position), nullptr);
        }
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  std::vector<std::uint64_t> all(39);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(blocks_of(one->find("both", kSize)), all);
  EXPECT_THAT(index_.reports(), IsEmpty());
  EXPECT_THAT(index_.files(), SizeIs(2)) << "and no temporary ones";
}

}  // namespace
}  // namespace npyfs
