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

using namespace std::string_view_literals;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::byte> floats(std::uint64_t count) {
  return npy_image("'<f4'", {count}, counting_bytes(4 * count));
}

// A list of a dtype and a scalar of it.
constexpr std::string_view kPickle =
    "\x80\3](cnumpy\ndtype\n(X\2\0\0\0i2\x89\x88tRq\1cnumpy.core.multiarray\nscalar\n(h\1C\2xytRe."sv;

class StalePagesTest : public testing::Test {
 protected:
  StalePagesTest() {
    dir_.write("a.npy", floats(3));
    dir_.write("b.npy", floats(3));
    dir_.write("plain.txt", bytes_of("text"));
    auto twice = floats(3);
    twice.insert(twice.end(), twice.begin(), twice.end());
    dir_.write("c.npz", NpzBuilder()
                            .deflated("x.npy", floats(3))
                            .deflated("y.npy", floats(3))
                            .deflated("p.pkl", bytes_of(kPickle))
                            .deflated("o.npy", npy_image("'|O'", {2}, bytes_of(kPickle)))
                            .stored("s.npy", twice)
                            .bytes());
    tree_.emplace(dir_.path());
    pages_.emplace(tree_->tree(), [this](Inode inode) {
      const std::lock_guard lock(mutex_);
      invalidated_.insert(inode);
      changed_.notify_all();
    });
  }
  ~StalePagesTest() override { pages_.reset(); }

  void open(const std::string& path) { pages_->opened(tree_->at(path)); }

  // What was invalidated, once it is `count` inodes; all there are after two minutes.
  std::multiset<Inode> invalidated(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(2), [&] { return invalidated_.size() >= count; });
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

TEST_F(StalePagesTest, ArraysOfAPickleInAMemberAreOfThatMember) {
  const Tree& tree = tree_->tree();
  const auto member = tree.member_id(tree_->at("c/p/1.npy"));
  ASSERT_TRUE(member);
  EXPECT_EQ(tree.catalog().place_of_member(*member), "c.npz: p.pkl");
  EXPECT_EQ(tree.member_id(tree_->at("c/p.pkl")), member);
  EXPECT_EQ(tree.catalog().place_of_member(*tree.member_id(tree_->at("c/o/1.raw"))),
            "c.npz: o.npy");
  EXPECT_EQ(tree.catalog().place_of_member(*tree.member_id(tree_->at("c/s.parts/1.npy"))),
            "c.npz: s.npy");
  EXPECT_EQ(tree.catalog().place_of_member(*tree.member_id(tree_->at("c/s.concat.npy"))),
            "c.npz: s.npy");
  open("c/p/1.npy");
  open("c/x.npy");
  pages_->damaged(*member);
  EXPECT_THAT(invalidated(1), UnorderedElementsAre(tree_->at("c/p/1.npy")));
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
