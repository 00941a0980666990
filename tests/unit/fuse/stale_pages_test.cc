#include "fuse/stale_pages.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/loaded_tree.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::byte> floats(std::uint64_t count) {
  return npy_image("'<f4'", {count}, counting_bytes(4 * count));
}

class StalePagesTest : public testing::Test {
 protected:
  StalePagesTest() {
    dir_.write("a.npy", floats(3));
    dir_.write("b.npy", floats(3));
    dir_.write("plain.txt", bytes_of("text"));
    dir_.write("c.npz",
               NpzBuilder().deflated("x.npy", floats(3)).deflated("y.npy", floats(3)).bytes());
    tree_.emplace(dir_.path());
    pages_.emplace(tree_->tree(), [this](Inode inode) {
      const std::lock_guard lock(mutex_);
      invalidated_.insert(inode);
      changed_.notify_all();
    });
  }
  ~StalePagesTest() override { pages_.reset(); }

  void open(const std::string& path) { pages_->opened(tree_->at(path)); }

  // What was invalidated, once it is `count` inodes; all there are after ten seconds.
  std::multiset<Inode> invalidated(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return invalidated_.size() >= count; });
    return invalidated_;
  }

  TempDir dir_;
  std::optional<LoadedTree> tree_;
  std::mutex mutex_;  // guards invalidated_
  std::condition_variable changed_;
  std::multiset<Inode> invalidated_;
  std::optional<StalePages> pages_;
};

TEST_F(StalePagesTest, DropsTheOpenedFilesOfWhatChangedAndNoOthers) {
  for (const char* path : {"a.npy", "a.raw", "b.npy", "plain.txt"}) {
    open(path);
  }
  dir_.write("a.npy", floats(5));
  pages_->look();
  EXPECT_THAT(invalidated(2), UnorderedElementsAre(tree_->at("a.npy"), tree_->at("a.raw")));
  dir_.write("plain.txt", bytes_of("another text"));
  pages_->look();
  EXPECT_THAT(invalidated(3),
              UnorderedElementsAre(tree_->at("a.npy"), tree_->at("a.raw"), tree_->at("plain.txt")));
}

TEST_F(StalePagesTest, LooksOnlyWhenToldTo) {
  open("a.npy");
  dir_.write("a.npy", floats(5));
  pages_.reset();  // its thread has ended: nothing can come any more
  EXPECT_THAT(invalidated(0), IsEmpty());
}

TEST_F(StalePagesTest, DropsTheOpenedFilesOfADamagedMemberEachTime) {
  const Catalog& catalog = tree_->tree().catalog();
  for (const char* path : {"c/x.npy", "c/x.raw", "c/y.npy", "a.npy"}) {
    open(path);
  }
  const auto member = tree_->tree().member_id(tree_->at("c/x.raw"));
  ASSERT_TRUE(member);
  EXPECT_EQ(catalog.place_of_member(*member), "c.npz: x.npy");
  EXPECT_FALSE(tree_->tree().member_id(tree_->at("a.npy")));
  EXPECT_FALSE(tree_->tree().member_id(tree_->at("c")));
  pages_->damaged(*member);
  EXPECT_THAT(invalidated(2), UnorderedElementsAre(tree_->at("c/x.npy"), tree_->at("c/x.raw")));
  pages_->damaged(*member);
  EXPECT_EQ(invalidated(4).size(), 4U);
}

TEST_F(StalePagesTest, NumbersThatAreNoFilesAreIgnored) {
  for (const Inode inode : {Inode{0}, Inode{Tree::kRoot}, Inode{3}, Inode{1} << 40, ~Inode{0}}) {
    pages_->opened(inode);
  }
  open("a.npy");
  dir_.write("a.npy", floats(5));
  pages_->look();
  EXPECT_THAT(invalidated(1), UnorderedElementsAre(tree_->at("a.npy")));
}

}  // namespace
}  // namespace npyfs
