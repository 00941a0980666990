// The index of a sharded checkpoint, in a directory as a source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/directory_source.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class IndexTest : public LoadDirectoryTest {
 protected:
  void index(std::initializer_list<std::pair<std::string, std::string>> entries,
             const std::string& directory = "") {
    NpzBuilder builder;
    for (const auto& [key, path] : entries) {
      builder.stored(key + ".npy",
                     npy_image("'|S" + std::to_string(path.size()) + "'", {}, bytes_of(path)));
    }
    write(directory + "index.npz", builder.bytes());
  }
};

TEST_F(IndexTest, PutsItsArraysAtTheRootUnderTheirKeys) {
  write("shards/w.npy", floats(3));
  index({{"layer.0.w", "model/shards/w.npy"}});
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(),
              UnorderedElementsAre("layer.0.w.npy", "layer.0.w.raw", "layer.0.w.u8view.npy",
                                   "layer.0.w.meta.json", "shards"));
  EXPECT_EQ(tree.text("layer.0.w.npy"), text(floats(3)));
  EXPECT_THAT(tree.names("shards"), IsEmpty());
  EXPECT_EQ(tree.text("shards/w.npy"), text(floats(3)));
  EXPECT_TRUE(tree.exists("index.npz"));
  EXPECT_EQ(meta(tree, "layer.0.w")["name"], "layer.0.w");
}

TEST_F(IndexTest, ResolvesInAFixedOrder) {
  write("w.npy", floats(1));
  write("a/w.npy", floats(2));
  write("b/a/w.npy", floats(3));
  write("key.npy", floats(4));
  const auto rows = [&](const std::string& path) {
    index({{"key", path}});
    return meta(load(), "key")["shape"][0].get<int>();
  };
  EXPECT_EQ(rows(dir_.path("a/w.npy")), 2) << "an absolute path inside";
  EXPECT_EQ(rows("b/a/w.npy"), 3);
  EXPECT_EQ(rows("old/b/a/w.npy"), 3) << "the longest suffix that exists";
  EXPECT_EQ(rows("/elsewhere/a/w.npy"), 2);
  EXPECT_EQ(rows("C:\\models\\a\\w.npy"), 2);
  EXPECT_EQ(rows("..\\a\\w.npy"), 2);
  EXPECT_EQ(rows("nowhere/w.npy"), 1);
  EXPECT_EQ(rows("nowhere.npy"), 4) << "the key is the last resort";
}

TEST_F(IndexTest, NeverLeadsOut) {
  const TempDir outside;
  outside.write("out.npy", floats(1));
  for (const std::string& path :
       {outside.path("out.npy"), std::string("../out.npy"), std::string("a/../../out.npy"),
        std::string(""), std::string("."), std::string("/etc/passwd")}) {
    index({{"lost", path}});
    const LoadedTree tree = load();
    EXPECT_FALSE(tree.exists("lost.npy")) << path;
    EXPECT_THAT(places(tree), ElementsAre("index.npz: lost ENOENT"));
  }
}

TEST_F(IndexTest, OneFileUnderOneKeyIsOneArray) {
  write("w.npy", floats(1));
  index({{"w", "model/w.npy"}});
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(), ElementsAre("w"));
  EXPECT_THAT(tree.problems(), IsEmpty());
}

TEST_F(IndexTest, RawShardsWithASidecarKeepTheirViews) {
  write("w.raw", counting_bytes(6));
  write("w_meta.json", R"({"shape": [2, 3], "dtype": "float8_e5m2"})");
  index({{"w", "model/w.raw"}});
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(),
              UnorderedElementsAre("w.npy", "w.raw", "w.u8view.npy", "w.meta.json", "w_meta.json"));
}

TEST_F(IndexTest, ShardsMayBeArchivesThatHoldTheKey) {
  write("part.npz", NpzBuilder()
                        .stored("a.npy", floats(1))
                        .deflated("b.npy", floats(2))
                        .stored("c.npy", floats(3))
                        .bytes());
  index({{"a", "x/part.npz"}, {"b", "x/part.npz"}, {"z", "x/part.npz"}});
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(), UnorderedElementsAre("a", "b", "part/c"))
      << "what no index names is shown as without one";
  EXPECT_EQ(tree.text("b.npy"), text(floats(2)));
  EXPECT_THAT(places(tree), ElementsAre("index.npz: z ENOENT"));
}

TEST_F(IndexTest, EachDirectoryHasItsOwn) {
  write("one/w.npy", floats(1));
  write("two/w.npy", floats(2));
  index({{"blocks/0/w", "one/w.npy"}}, "one/");
  index({{"w", "two/w.npy"}}, "two/");
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(), UnorderedElementsAre("one/blocks/0/w", "two/w"));
  EXPECT_EQ(meta(tree, "one/blocks/0/w")["name"], "one/blocks/0/w");
}

TEST_F(IndexTest, AnArchiveOfNumbersIsOneLikeOthers) {
  write("index.npz", NpzBuilder().stored("a.npy", floats(1)).bytes());
  EXPECT_THAT(load().arrays(), ElementsAre("index/a"));
}

TEST_F(IndexTest, AShardThatIsAPointerIsNamedOnce) {
  write("w.npy", kPointer);
  index({{"w", "model/w.npy"}, {"v", "model/w.npy"}});
  const LoadedTree tree = load();
  EXPECT_EQ(tree.text("w.npy"), kPointer);
  EXPECT_THAT(places(tree),
              UnorderedElementsAre("w.npy EIO", "index.npz: w ENOENT", "index.npz: v ENOENT"));
}

TEST_F(IndexTest, SplitsItsKeys) {
  write("w.npy", floats(1));
  index({{"layer.0.w", "model/w.npy"}});
  EXPECT_THAT(load({.split = '.', .types = {}, .confine_links = false}).arrays(),
              ElementsAre("layer/0/w"));
}

}  // namespace
}  // namespace npyfs
