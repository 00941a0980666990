// A directory as a source.
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/directory_source.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(LoadDirectoryTest, ShowsArraysArchivesFilesAndSubdirectories) {
  write("tok.npy", floats(2));
  write("config.json", "{}");
  write("sub/deeper/b.npy", floats(3));
  write("weights.npz",
        NpzBuilder().stored("a.npy", floats(1)).deflated("x/b.npy", floats(4)).bytes());
  std::filesystem::create_directory(dir_.path("empty"));
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(),
              UnorderedElementsAre("tok.npy", "tok.raw", "tok.u8view.npy", "tok.meta.json",
                                   "config.json", "sub", "weights", "empty"));
  EXPECT_EQ(tree.text("weights/x/b.npy"), text(floats(4)));
  EXPECT_EQ(tree.text("sub/deeper/b.npy"), text(floats(3)));
  EXPECT_EQ(meta(tree, "sub/deeper/b")["name"], "sub/deeper/b");
  EXPECT_EQ(meta(tree, "weights/x/b")["name"], "weights/x/b");
  EXPECT_THAT(tree.names("empty"), IsEmpty());
  EXPECT_THAT(tree.problems(), IsEmpty());
}

TEST_F(LoadDirectoryTest, WhatWasTakenApartIsFoundByNameAndNotListed) {
  const auto archive = NpzBuilder().stored("a.npy", floats(1)).bytes();
  write("weights.npz", archive);
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(), ElementsAre("weights"));
  EXPECT_EQ(tree.text("weights.npz"), text(archive));
}

TEST_F(LoadDirectoryTest, AZipWithoutImagesIsAFile) {
  write("docs.zip", NpzBuilder().stored("readme.txt", bytes_of("hello")).bytes());
  write("empty.npz", NpzBuilder().bytes());
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(), ElementsAre("docs.zip", "empty.npz"));
  EXPECT_THAT(tree.problems(), IsEmpty());
}

TEST_F(LoadDirectoryTest, AContainersDirectoryYieldsToARealOne) {
  write("weights.npz", NpzBuilder().stored("a.npy", floats(1)).bytes());
  write("weights/b.npy", floats(2));
  EXPECT_THAT(load().arrays(), UnorderedElementsAre("weights/b", "weights~2/a"));
}

TEST_F(LoadDirectoryTest, BytesWithASidecarAreAnArray) {
  for (const std::string ending : {".npy", ".raw", ".bin"}) {
    for (const std::string sidecar : {"_meta.json", ".meta.json"}) {
      const TempDir dir;
      dir.write("x" + ending, counting_bytes(6));
      dir.write("x" + sidecar, bytes_of(R"({"shape": [2, 3], "dtype": "float8_e5m2"})"));
      const LoadedTree tree(dir.path());
      std::vector<std::string> names = {"x.npy", "x.raw", "x.u8view.npy", "x.meta.json"};
      if (sidecar == "_meta.json") {
        names.push_back("x_meta.json");
      }
      EXPECT_THAT(tree.names(), testing::UnorderedElementsAreArray(names)) << ending << sidecar;
      EXPECT_EQ(tree.text("x.raw"), text(counting_bytes(6)));
      EXPECT_EQ(meta(tree, "x")["dtype"], "float8_e5m2");
      EXPECT_EQ(meta(tree, "x")["npyfs"], 1) << "our own takes the sidecar's place";
      EXPECT_EQ(tree.exists("x.bin"), ending == ".bin");
    }
  }
}

TEST_F(LoadDirectoryTest, ASidecarMayTellAnImagesTypeAlone) {
  for (const std::string sidecar : {"_meta.json", ".meta.json"}) {
    const TempDir dir;
    dir.write("x.npy", npy_image("'<V1'", {3}, counting_bytes(3)));
    dir.write("x" + sidecar, bytes_of(R"({"dtype": "float8_e4m3fn"})"));
    const LoadedTree tree(dir.path());
    EXPECT_EQ(meta(tree, "x")["dtype"], "float8_e4m3fn");
    EXPECT_EQ(meta(tree, "x")["dtype_from"], "sidecar");
    EXPECT_EQ(meta(tree, "x")["npyfs"], 1) << "our own takes the sidecar's place";
    EXPECT_TRUE(tree.exists("x.f32view.npy"));
    EXPECT_THAT(tree.problems(), SizeIs(0));
  }
}

TEST_F(LoadDirectoryTest, BytesWhoseSidecarLacksSomethingSayWhat) {
  for (const std::string ending : {".npy", ".raw", ".bin"}) {
    const TempDir dir;
    dir.write("x" + ending, counting_bytes(6));
    dir.write("x_meta.json", bytes_of(R"({"dtype": "float8_e5m2"})"));
    const LoadedTree tree(dir.path());
    EXPECT_THAT(tree.names(), testing::UnorderedElementsAre("x" + ending, "x_meta.json"));
    ASSERT_THAT(tree.problems(), SizeIs(1));
    EXPECT_EQ(tree.problems()[0].where, "x" + ending);
    EXPECT_EQ(tree.problems()[0].what,
              "x" + ending +
                  ": the sidecar: no shape for 6 bytes that have no header; add "
                  "\"shape\": [...], a list of lengths");
  }
}

TEST_F(LoadDirectoryTest, TheSidecarWithTheUnderscoreWins) {
  write("x.bin", counting_bytes(4));
  write("x_meta.json", R"({"shape": [4], "dtype": "float8_e5m2"})");
  write("x.meta.json", R"({"shape": [2], "dtype": "float16"})");
  EXPECT_EQ(meta(load(), "x")["dtype"], "float8_e5m2");
}

TEST_F(LoadDirectoryTest, ASidecarThatDisagreesWithTheSizeLeavesAPlainFile) {
  write("x.npy", counting_bytes(23));
  write("x_meta.json", R"({"shape": [2, 3, 4], "dtype": "float8_e5m2"})");
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(), ElementsAre("x.npy", "x_meta.json"));
  EXPECT_EQ(tree.text("x.npy"), text(counting_bytes(23)));
  ASSERT_THAT(tree.problems(), SizeIs(1));
  EXPECT_THAT(
      tree.problems()[0].what,
      HasSubstr("x.npy: the sidecar: shape (2, 3, 4) of float8_e5m2 needs 24 bytes, 23 are there"));
}

TEST_F(LoadDirectoryTest, WhatIsCalledAnImageAndIsNoneIsAPlainFile) {
  write("w.npy", kPointer);
  write("part.npz", kPointer);
  write("a.npy", floats(1));
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(), ElementsAre("a"));
  EXPECT_EQ(tree.text("w.npy"), kPointer);
  EXPECT_EQ(tree.text("part.npz"), kPointer);
  ASSERT_THAT(tree.problems(), SizeIs(2));
  for (const Problem& problem : tree.problems()) {
    EXPECT_THAT(problem.what, HasSubstr("git LFS pointer"));
    EXPECT_THAT(problem.what, HasSubstr("123456"));
  }
}

TEST_F(LoadDirectoryTest, DamagedFilesHarmNobodyElse) {
  write("cut.npz", "PK\3\4 and then nothing");
  write("broken.npy", std::string_view("\x93NUMPY\1\0\x10\0xxxxxxxxxxxxxxxx", 26));
  auto cut = floats(3);
  cut.resize(cut.size() - 3);
  write("short.npy", cut);
  write("good.npy", floats(3));
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(), UnorderedElementsAre("broken", "good", "short"));
  EXPECT_EQ(tree.text("short.npy"), text(cut));
  EXPECT_FALSE(tree.exists("short.raw"));
  EXPECT_FALSE(tree.exists("broken.raw"));
  EXPECT_TRUE(meta(tree, "broken").contains("error"));
  EXPECT_THAT(places(tree), UnorderedElementsAre("cut.npz EIO", "broken.npy EIO", "short.npy EIO"));
}

TEST_F(LoadDirectoryTest, NamesOnDiskKeepTheirBytes) {
  const std::string longest(251, 'x');
  for (const std::string& name :
       {std::string("caf\xe9.npy"), std::string("100%41.npy"), std::string("tab\there.npy"),
        longest + ".npy", std::string("a.b.npy")}) {
    write(name, floats(1));
  }
  const LoadedTree tree = load({.split = '.', .types = {}, .confine_links = false});
  EXPECT_THAT(tree.arrays(),
              UnorderedElementsAre("caf\xe9", "100%41", "tab\there", longest, "a.b"));
  EXPECT_EQ(tree.text(longest + ".npy"), text(floats(1)));
  EXPECT_FALSE(tree.exists(longest + ".u8view.npy"));
}

TEST_F(LoadDirectoryTest, ADirectoryOfOurNameIsSomebodyElses) {
  write(".npyfs/manifest.json", "theirs");
  write("sub/.npyfs/x", "inner");
  const LoadedTree tree = load();
  EXPECT_EQ(tree.text("%2Enpyfs/manifest.json"), "theirs");
  EXPECT_NE(tree.text(".npyfs/manifest.json"), "theirs");
  EXPECT_EQ(tree.text("sub/.npyfs/x"), "inner");
}

TEST_F(LoadDirectoryTest, LinksLeadWhereOpenLeads) {
  const TempDir elsewhere;
  elsewhere.write("big.npy", floats(3));
  link(elsewhere.path("big.npy"), "link.npy");
  link(elsewhere.path(), "dir");
  const LoadedTree tree = load();
  EXPECT_EQ(tree.text("link.npy"), text(floats(3)));
  EXPECT_EQ(tree.text("dir/big.npy"), text(floats(3)));
  EXPECT_THAT(tree.problems(), IsEmpty());
}

TEST_F(LoadDirectoryTest, ConfinedLinksStayInside) {
  const TempDir elsewhere;
  elsewhere.write("big.npy", floats(3));
  write("a.npy", floats(1));
  link(elsewhere.path("big.npy"), "out.npy");
  link(elsewhere.path(), "dir");
  link("a.npy", "inside.npy");
  const LoadedTree tree = load({.split = std::nullopt, .types = {}, .confine_links = true});
  EXPECT_FALSE(tree.exists("out.npy"));
  EXPECT_FALSE(tree.exists("dir"));
  EXPECT_TRUE(tree.exists("inside.npy"));
  EXPECT_THAT(places(tree), UnorderedElementsAre("out.npy EACCES", "dir EACCES"));
}

TEST_F(LoadDirectoryTest, WhatCannotBeShownIsAProblem) {
  write("sub/a.npy", floats(1));
  link("..", "sub/up");
  link(".", "self");
  link("nowhere", "dangling.npy");
  link("turn", "turn");
  ASSERT_EQ(::mkfifo(dir_.path("pipe.npy").c_str(), 0600), 0);
  const LoadedTree tree = load();
  EXPECT_THAT(tree.names(), ElementsAre("sub"));
  EXPECT_THAT(places(tree),
              UnorderedElementsAre("sub/up ELOOP", "self ELOOP", "dangling.npy ENOENT",
                                   "turn ELOOP", "pipe.npy EINVAL"));
}

TEST_F(LoadDirectoryTest, ADirectoryLinkedTwiceIsNoLoop) {
  write("v1/a.npy", floats(1));
  link("v1", "latest");
  EXPECT_THAT(load().arrays(), UnorderedElementsAre("v1/a", "latest/a"));
}

TEST_F(LoadDirectoryTest, SeveralImagesInAFileAreParts) {
  auto both = floats(2);
  const auto second = floats(3);
  both.insert(both.end(), second.begin(), second.end());
  write("sub/x.npy", both);
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(),
              ElementsAre("sub/x", "sub/x.parts/0", "sub/x.parts/1", "sub/x.concat"));
  EXPECT_EQ(meta(tree, "sub/x.concat")["name"], "sub/x.concat");
}

TEST_F(LoadDirectoryTest, AShardThatIsReplacedIsStale) {
  write("a.npy", floats(1));
  write("b.npy", floats(1));
  const LoadedTree tree = load();
  write("new", floats(2));
  std::filesystem::rename(dir_.path("new"), dir_.path("a.npy"));
  EXPECT_EQ(tree.errno_of("a.raw"), ESTALE);
  EXPECT_EQ(tree.errno_of("b.raw"), 0);
  std::filesystem::remove(dir_.path("b.npy"));
  EXPECT_EQ(tree.errno_of("b.npy"), 0) << "it was opened before, and so is still there";
  EXPECT_EQ(tree.text("a.meta.json").front(), '{');
}

// Copies of mounts.

class CopyTest : public LoadDirectoryTest {
 protected:
  // Copies what a tree lists into a directory below.
  void copy(const LoadedTree& tree, const std::string& to, const std::string& from = "") {
    for (const std::string& name : tree.names(from)) {
      const std::string path = from.empty() ? name : from + "/" + name;
      if (tree.tree().attributes(tree.at(path)).is_directory) {
        std::filesystem::create_directories(dir_.path(to + "/" + path));
        copy(tree, to, path);
      } else {
        write(to + "/" + path, tree.text(path));
      }
    }
  }
  LoadedTree original(const NpzBuilder& builder, const LoadOptions& options = {}) {
    return LoadedTree(write("x.npz", builder.bytes()), options);
  }
};

TEST_F(CopyTest, MountsAsTheOriginalDid) {
  const LoadedTree first = original(
      NpzBuilder()
          .stored("c.npy", npy_image("'<f4'", {2, 3}, counting_bytes(24)))
          .deflated("f.npy", npy_image("'<f4'", {2, 3}, counting_bytes(24), true))
          .stored("n/s.npy", npy_image("[('a', '|i1'), ('b', '<f8')]", {2}, counting_bytes(18)))
          .stored("bits.npy", npy_image("'<V1'", {3}, counting_bytes(3)))
          .stored("o.npy", npy_image("'|O'", {}, bytes_of("\x80\2N."))),
      {.split = std::nullopt, .types = {{"bits", "float8_e4m3fn"}}, .confine_links = false});
  copy(first, "copy");
  const LoadedTree second(dir_.path("copy"));
  EXPECT_THAT(second.arrays(), testing::UnorderedElementsAreArray(first.arrays()));
  for (const std::string& array : first.arrays()) {
    EXPECT_EQ(second.text(array + ".npy"), first.text(array + ".npy"));
    EXPECT_EQ(second.text(array + ".meta.json"), first.text(array + ".meta.json"));
  }
  EXPECT_EQ(second.text("f.raw"), first.text("f.raw"));
  EXPECT_THAT(second.problems(), IsEmpty());
}

TEST_F(CopyTest, WithoutItsImageIsMadeOfTheData) {
  const LoadedTree first =
      original(NpzBuilder().stored("f.npy", npy_image("'<f4'", {2, 3}, counting_bytes(24), true)));
  copy(first, "copy");
  std::filesystem::remove(dir_.path("copy/f.npy"));
  const LoadedTree second(dir_.path("copy"));
  EXPECT_THAT(second.arrays(), ElementsAre("f"));
  EXPECT_EQ(second.text("f.raw"), first.text("f.raw"));
}

TEST_F(CopyTest, ThatWasAlteredIsTakenAsItIs) {
  const LoadedTree first = original(NpzBuilder().stored("x.npy", floats(3)));
  copy(first, "copy");
  write("copy/x.npy", floats(5));
  const LoadedTree second(dir_.path("copy"));
  EXPECT_EQ(second.text("x.npy"), text(floats(5)));
  EXPECT_EQ(meta(second, "x")["shape"], nlohmann::json({5}));
  EXPECT_EQ(second.text("x.raw"), text(counting_bytes(12))) << "the copied file is not lost";
}

TEST_F(CopyTest, APlainFileBesideOneIsNotFolded) {
  write("x.u8view.npy", floats(2));
  write("x.npy", floats(1));
  const LoadedTree tree = load();
  EXPECT_THAT(tree.arrays(), UnorderedElementsAre("x", "x.u8view"));
}

}  // namespace
}  // namespace npyfs
