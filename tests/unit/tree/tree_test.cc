#include "npyfs/tree/tree.h"

#include <filesystem>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "npyfs/source/file.h"

#include "support/loaded_tree.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::Property;
using testing::Throws;

auto fails(int errno_value) { return Throws<Error>(Property(&Error::errno_value, errno_value)); }

std::vector<std::byte> floats(std::uint64_t count) {
  return npy_image("'<f4'", {count}, counting_bytes(4 * count));
}

class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    for (int i = 0; i < 50; ++i) {
      dir_.write("model/" + std::to_string(i) + ".npy", floats(static_cast<std::uint64_t>(i)));
    }
    dir_.write("model/config.json", bytes_of("{}"));
    dir_.write("model/sub/x.npy", floats(3));
    dir_.write("model/weights.npz",
               NpzBuilder()
                   .stored("a.npy", floats(1))
                   .stored("o.npy", npy_image("'|O'", {}, bytes_of("\x80\2N.")))
                   .bytes());
  }

  // Every entry of a listing, read `batch` at a time.
  static std::vector<std::pair<std::string, Inode>> list(const Tree& tree, Inode directory,
                                                         int batch) {
    std::vector<std::pair<std::string, Inode>> entries;
    std::uint64_t offset = 0;
    for (bool more = true; more;) {
      int taken = 0;
      more = false;
      tree.list(directory, offset, [&](const Tree::Entry& entry) {
        if (taken == batch) {
          more = true;
          return false;
        }
        ++taken;
        entries.emplace_back(std::string(entry.name), entry.inode);
        offset = entry.next;
        return true;
      });
    }
    return entries;
  }

  TempDir dir_;
};

TEST_F(TreeTest, AListingResumedAnywhereHasEveryEntryOnce) {
  const LoadedTree loaded(dir_.path("model"));
  for (const std::string directory : {"", "sub", "weights", ".npyfs"}) {
    const Inode inode = loaded.at(directory);
    const auto whole = list(loaded.tree(), inode, 100'000);
    std::map<std::string, int> seen;
    for (const auto& [name, number] : whole) {
      EXPECT_EQ(++seen[name], 1) << name;
    }
    for (const int batch : {1, 2, 3, 7}) {
      EXPECT_EQ(list(loaded.tree(), inode, batch), whole) << directory << " by " << batch;
    }
  }
}

TEST_F(TreeTest, AListingBeginsWithTheDirectoryAndTheOneAbove) {
  const LoadedTree loaded(dir_.path("model"));
  const auto sub = list(loaded.tree(), loaded.at("sub"), 100);
  EXPECT_EQ(sub[0], std::pair(std::string("."), loaded.at("sub")));
  EXPECT_EQ(sub[1], std::pair(std::string(".."), Inode{Tree::kRoot}));
  EXPECT_EQ(list(loaded.tree(), Tree::kRoot, 100)[1].second, Inode{Tree::kRoot});
}

TEST_F(TreeTest, EntriesAreWhatLookupFinds) {
  const LoadedTree loaded(dir_.path("model"));
  for (const auto& [name, inode] : list(loaded.tree(), Tree::kRoot, 100'000)) {
    if (name != "." && name != "..") {
      EXPECT_EQ(loaded.tree().lookup(Tree::kRoot, name), inode) << name;
      EXPECT_EQ(loaded.tree().path(inode), name);
      EXPECT_EQ(loaded.tree().attributes(inode).inode, inode);
    }
  }
}

TEST_F(TreeTest, InodeNumbersDifferAndStay) {
  const LoadedTree loaded(dir_.path("model"));
  std::map<Inode, std::string> seen;
  for (const std::string path :
       {"0.npy", "0.raw", "0.u8view.npy", "0.meta.json", "1.npy", "config.json", "sub", "sub/x.npy",
        "weights", "weights/a.npy", "weights.npz", ".npyfs", ".npyfs/manifest.json",
        ".npyfs/errors.json", ".npyfs/stats.json"}) {
    const Inode inode = loaded.at(path);
    EXPECT_TRUE(seen.emplace(inode, path).second) << path << " and " << seen[inode];
    EXPECT_EQ(loaded.at(path), inode);
  }
}

TEST_F(TreeTest, LookupsSizesAndListingsReadNothing) {
  const LoadedTree loaded(dir_.path("model"));
  const std::uint64_t before = file_reads();
  for (const auto& [name, inode] : list(loaded.tree(), Tree::kRoot, 10)) {
    loaded.tree().attributes(inode);
  }
  EXPECT_EQ(loaded.tree().lookup(Tree::kRoot, "nowhere"), std::nullopt);
  EXPECT_FALSE(loaded.exists("0.f32view.npy"));
  loaded.text("7.meta.json");
  loaded.text(".npyfs/manifest.json");
  EXPECT_EQ(file_reads(), before);
}

TEST_F(TreeTest, ASizeIsWhatReadingGives) {
  const LoadedTree loaded(dir_.path("model"));
  for (const auto& [name, inode] : list(loaded.tree(), Tree::kRoot, 100'000)) {
    const auto attributes = loaded.tree().attributes(inode);
    if (!attributes.is_directory) {
      EXPECT_EQ(loaded.text(name).size(), attributes.size) << name;
    }
  }
  for (const std::string path :
       {"weights/o.npy", "weights/o.meta.json", "weights.npz", ".npyfs/manifest.json",
        ".npyfs/errors.json", ".npyfs/stats.json"}) {
    EXPECT_EQ(loaded.text(path).size(), loaded.size(path)) << path;
  }
}

TEST_F(TreeTest, ListedViewsAreAMatterOfListingsOnly) {
  const LoadedTree loaded(dir_.path("model"), {}, {true, false, false, false, false, false});
  EXPECT_THAT(loaded.names("sub"), ElementsAre("x.npy"));
  EXPECT_TRUE(loaded.exists("sub/x.raw"));
  EXPECT_TRUE(loaded.exists("sub/x.meta.json"));
  EXPECT_THAT(loaded.names(), testing::Contains("config.json"));
}

TEST_F(TreeTest, WhatIsHiddenIsFound) {
  const LoadedTree loaded(dir_.path("model"));
  EXPECT_THAT(loaded.names(), testing::Not(testing::Contains("weights.npz")));
  EXPECT_THAT(loaded.names(), testing::Not(testing::Contains(".npyfs")));
  EXPECT_TRUE(loaded.exists("weights.npz"));
  EXPECT_TRUE(loaded.exists(".npyfs"));
  EXPECT_FALSE(loaded.exists("sub/.npyfs"));
}

TEST_F(TreeTest, NumbersThatAreNobodysAreRefused) {
  const LoadedTree loaded(dir_.path("model"));
  const Tree& tree = loaded.tree();
  for (const Inode inode :
       {Inode{0}, Inode{6}, Inode{15}, Inode{16}, Inode{1} << 40, ~Inode{0}, loaded.at("sub") + 1,
        loaded.at("config.json") + 1, loaded.at("0.npy") + 6, loaded.at("weights/o.npy") + 1}) {
    EXPECT_THAT([&] { tree.attributes(inode); }, fails(ENOENT)) << inode;
    EXPECT_THAT([&] { tree.open(inode); }, fails(ENOENT)) << inode;
  }
  EXPECT_THAT([&] { tree.open(loaded.at("sub")); }, fails(EISDIR));
  EXPECT_THAT([&] { tree.open(loaded.at(".npyfs")); }, fails(EISDIR));
  EXPECT_THAT([&] { tree.lookup(loaded.at("config.json"), "x"); }, fails(ENOTDIR));
  EXPECT_THAT([&] { tree.list(loaded.at("0.npy"), 0, [](const auto&) { return true; }); },
              fails(ENOTDIR));
}

TEST_F(TreeTest, TimesAreThoseOfTheSourcesFiles) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, {123, 456}};
  ASSERT_EQ(::utimensat(AT_FDCWD, dir_.path("model/7.npy").c_str(), times, 0), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, dir_.path("model/weights.npz").c_str(), times, 0), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, dir_.path("model/sub").c_str(), times, 0), 0);
  const LoadedTree loaded(dir_.path("model"));
  for (const std::string path : {"7.npy", "7.meta.json", "weights/a.npy", "sub"}) {
    EXPECT_EQ(loaded.tree().attributes(loaded.at(path)).mtime_ns, 123'000'000'456) << path;
  }
}

TEST_F(TreeTest, TheControlFilesAreThreeAndTwoOfThemVolatile) {
  const LoadedTree loaded(dir_.path("model"));
  EXPECT_THAT(loaded.names(".npyfs"), ElementsAre("manifest.json", "errors.json", "stats.json"));
  EXPECT_FALSE(loaded.tree().attributes(loaded.at(".npyfs/manifest.json")).is_volatile);
  EXPECT_TRUE(loaded.tree().attributes(loaded.at(".npyfs/errors.json")).is_volatile);
  EXPECT_TRUE(loaded.tree().attributes(loaded.at(".npyfs/stats.json")).is_volatile);
  EXPECT_EQ(nlohmann::json::parse(loaded.text(".npyfs/manifest.json")).size(), 53U);
}

TEST_F(TreeTest, FaultsJoinTheProblemsOnce) {
  const LoadedTree loaded(dir_.path("model"));
  const Problem fault = {"0.npy", "0.npy: gone", ESTALE};
  EXPECT_TRUE(loaded.tree().faults().add(fault));
  EXPECT_FALSE(loaded.tree().faults().add(fault));
  const auto errors = nlohmann::json::parse(loaded.text(".npyfs/errors.json"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0]["errno"], "ESTALE");
  for (std::size_t i = 1; i < Faults::kMost; ++i) {
    EXPECT_TRUE(loaded.tree().faults().add({std::to_string(i), "", EIO}));
  }
  EXPECT_FALSE(loaded.tree().faults().add({"one too many", "", EIO}));
}

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() { write("x.npz", 1000); }
  void write(const std::string& name, std::uint64_t count) {
    dir_.write(
        name, NpzBuilder().stored("a.npy", floats(count)).deflated("b.npy", floats(count)).bytes());
  }
  void expect_stale(const LoadedTree& loaded) {
    for (const std::string path : {"a.npy", "a.raw", "b.npy", "b.u8view.npy"}) {
      EXPECT_EQ(loaded.errno_of(path), ESTALE) << path;
    }
  }

  TempDir dir_;
};

TEST_F(ArchiveTest, ThatIsCutIsStale) {
  const LoadedTree loaded(dir_.path("x.npz"));
  EXPECT_EQ(loaded.errno_of("b.raw"), 0);
  ASSERT_EQ(::truncate(dir_.path("x.npz").c_str(), 100), 0);
  expect_stale(loaded);
}

TEST_F(ArchiveTest, ThatIsRewrittenIsStaleForGood) {
  const LoadedTree loaded(dir_.path("x.npz"));
  write("x.npz", 1001);
  expect_stale(loaded);
  write("x.npz", 1000);
  expect_stale(loaded);
}

TEST_F(ArchiveTest, ThatHasAnotherTimeIsStale) {
  const LoadedTree loaded(dir_.path("x.npz"));
  const struct timespec times[2] = {{0, UTIME_OMIT}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, dir_.path("x.npz").c_str(), times, 0), 0);
  expect_stale(loaded);
}

TEST_F(ArchiveTest, ThatIsReplacedOrRemovedGoesOnBeingServed) {
  const LoadedTree loaded(dir_.path("x.npz"));
  write("new.npz", 7);
  std::filesystem::rename(dir_.path("new.npz"), dir_.path("x.npz"));
  EXPECT_EQ(loaded.errno_of("a.npy"), 0);
  EXPECT_EQ(loaded.errno_of("b.raw"), 0);
  EXPECT_EQ(loaded.size("b.raw"), 4000U);
  std::filesystem::remove(dir_.path("x.npz"));
  EXPECT_EQ(loaded.errno_of("a.npy"), 0);
}

}  // namespace
}  // namespace npyfs
