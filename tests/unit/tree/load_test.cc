// One file as a source: a .npz, a .npy, and what is neither.
#include "npyfs/tree/load.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/deflate_bytes.h"
#include "support/loaded_tree.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;
using testing::SizeIs;
using testing::Throws;

std::vector<std::byte> floats(std::uint64_t count) {
  return npy_image("'<f4'", {count}, counting_bytes(4 * count));
}

std::string text(const std::vector<std::byte>& bytes) { return std::string(text_view(bytes)); }

std::vector<std::byte> joined(std::initializer_list<std::vector<std::byte>> pieces) {
  std::vector<std::byte> whole;
  for (const auto& piece : pieces) {
    whole.insert(whole.end(), piece.begin(), piece.end());
  }
  return whole;
}

class LoadTest : public testing::Test {
 protected:
  LoadedTree npz(const NpzBuilder& builder, const LoadOptions& options = {}) {
    return LoadedTree(dir_.write("x.npz", builder.bytes()), options);
  }
  auto fails(int errno_value, const std::string& words) {
    return Throws<Error>(AllOf(Property(&Error::errno_value, errno_value),
                               Property(&Error::what, HasSubstr(words))));
  }

  TempDir dir_;
};

TEST_F(LoadTest, AnArchiveShowsItsArraysWithAllTheirFiles) {
  const LoadedTree tree = npz(NpzBuilder().stored("w.npy", floats(3)).deflated("v.npy", floats(5)));
  EXPECT_THAT(tree.names(), ElementsAre("w.npy", "w.raw", "w.u8view.npy", "w.meta.json", "v.npy",
                                        "v.raw", "v.u8view.npy", "v.meta.json"));
  EXPECT_EQ(tree.text("w.npy"), text(floats(3)));
  EXPECT_EQ(tree.text("v.npy"), text(floats(5)));
  EXPECT_EQ(tree.text("v.raw"), text(counting_bytes(20)));
  EXPECT_THAT(tree.problems(), IsEmpty());
}

TEST_F(LoadTest, KeysBecomePaths) {
  const LoadedTree tree = npz(NpzBuilder()
                                  .stored("a/b/c.npy", floats(1))
                                  .stored("/abs.npy", floats(1))
                                  .stored("m//weights.npy", floats(1))
                                  .stored("../evil.npy", floats(1))
                                  .stored("x\\y.npy", floats(1))
                                  .stored(".npy", floats(1))
                                  .stored("noext", floats(1)));
  EXPECT_THAT(tree.arrays(),
              ElementsAre("a/b/c", "abs", "m/weights", "%2E%2E/evil", "x\\y", "%", "noext"));
  EXPECT_EQ(nlohmann::json::parse(tree.text("%2E%2E/evil.meta.json"))["name"], "../evil");
  EXPECT_EQ(nlohmann::json::parse(tree.text("%.meta.json"))["name"], "");
}

TEST_F(LoadTest, SplitIsForArrayKeysOnly) {
  const LoadedTree tree =
      npz(NpzBuilder().stored("layer.0.w.npy", floats(1)).stored("read.me", bytes_of("hi")),
          {.split = '.', .types = {}, .confine_links = false});
  EXPECT_THAT(tree.arrays(), ElementsAre("layer/0/w"));
  EXPECT_EQ(tree.text("read.me"), "hi");
  EXPECT_EQ(nlohmann::json::parse(tree.text("layer/0/w.meta.json"))["name"], "layer.0.w");
}

TEST_F(LoadTest, AKeyAThousandLevelsDeep) {
  std::string key = "d";
  for (int i = 1; i < 1000; ++i) {
    key += "/d";
  }
  const LoadedTree tree = npz(NpzBuilder().stored(key + ".npy", floats(1)));
  EXPECT_THAT(tree.arrays(), ElementsAre(key));
  EXPECT_EQ(tree.text(key + ".npy"), text(floats(1)));
}

TEST_F(LoadTest, OtherMembersAreFilesAndDirectories) {
  const LoadedTree tree = npz(NpzBuilder()
                                  .stored("readme.txt", bytes_of("hello"))
                                  .stored("empty/dir/", {})
                                  .stored("link", bytes_of("/etc/passwd"))
                                  .with_unix_mode(0120777));
  EXPECT_THAT(tree.names(), ElementsAre("readme.txt", "empty", "link"));
  EXPECT_THAT(tree.names("empty"), ElementsAre("dir"));
  EXPECT_EQ(tree.text("link"), "/etc/passwd");
  EXPECT_TRUE(tree.tree().attributes(tree.at("empty/dir")).is_directory);
}

TEST_F(LoadTest, OfMembersWithOneNameTheLastIsShown) {
  const LoadedTree tree = npz(NpzBuilder()
                                  .stored("a.npy", floats(1))
                                  .stored("t", bytes_of("old"))
                                  .stored("a.npy", floats(2))
                                  .stored("t", bytes_of("new")));
  EXPECT_THAT(tree.arrays(), ElementsAre("a"));
  EXPECT_EQ(tree.text("a.npy"), text(floats(2)));
  EXPECT_EQ(tree.text("t"), "new");
}

TEST_F(LoadTest, OfMembersThatWantOnePathTheLaterIsNumbered) {
  const LoadedTree tree = npz(NpzBuilder()
                                  .stored("x", floats(1))
                                  .stored("x.npy", floats(2))
                                  .stored("/x.npy", floats(3))
                                  .stored("t", bytes_of("1"))
                                  .stored("/t", bytes_of("2")));
  EXPECT_THAT(tree.arrays(), ElementsAre("x", "x~2", "x~3"));
  EXPECT_EQ(tree.text("x~2.npy"), text(floats(2)));
  const auto meta = nlohmann::json::parse(tree.text("x~3.meta.json"));
  EXPECT_EQ(meta["name"], "/x~3");
  EXPECT_EQ(tree.text("t~2"), "2");
}

TEST_F(LoadTest, ADirectoryYieldsToAFileInEitherOrder) {
  for (const bool file_first : {true, false}) {
    NpzBuilder builder;
    if (file_first) {
      builder.stored("a", bytes_of("file"));
    }
    builder.stored("a/b.npy", floats(1))
        .stored("other", bytes_of("x"))
        .stored("a/c.npy", floats(1));
    if (!file_first) {
      builder.stored("a", bytes_of("file"));
    }
    const LoadedTree tree = npz(builder.stored("a/d.npy", floats(1)));
    EXPECT_EQ(tree.text("a"), "file");
    EXPECT_THAT(tree.arrays(), ElementsAre("a~2/b", "a~2/c", "a~2/d"));
  }
}

TEST_F(LoadTest, AVirtualSiblingLosesToARealMember) {
  const LoadedTree tree = npz(NpzBuilder()
                                  .stored("a.npy", floats(1))
                                  .stored("a.raw", bytes_of("real"))
                                  .stored("b.npy", floats(1))
                                  .stored("b.u8view.npy", floats(2))
                                  .stored("c.npy", floats(1))
                                  .stored("c.meta.json/x", bytes_of("inside")));
  EXPECT_EQ(tree.text("a.raw"), "real");
  EXPECT_EQ(tree.text("b.u8view.npy"), text(floats(2)));
  EXPECT_EQ(tree.text("c.meta.json/x"), "inside");
  EXPECT_FALSE(nlohmann::json::parse(tree.text("a.meta.json"))["files"].contains("raw"));
  EXPECT_THAT(tree.names(), testing::Not(testing::Contains("b.u8view.u8view")));
  EXPECT_TRUE(tree.exists("b.u8view.u8view.npy"));
  auto names = tree.names();
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << "a name is listed twice";
}

TEST_F(LoadTest, OneBadMemberIsAProblemAndTheRestIsThere) {
  const LoadedTree tree =
      npz(NpzBuilder()
              .stored("good.npy", floats(1))
              .stored("secret.npy", floats(1))
              .with_flags(1)
              .stored("method.npy", floats(1))
              .with_method(97)
              .stored("lost.npy", floats(1))
              .with_offset_error(7)
              .stored("cut.npy", Bytes(floats(10)).first(150))
              .stored("lfs.npy", bytes_of("version https://git-lfs.github.com/spec/v1\nsize 5\n")));
  EXPECT_THAT(tree.arrays(), ElementsAre("good", "secret", "method", "lost", "cut"));
  EXPECT_EQ(tree.errno_of("good.npy"), 0);
  EXPECT_EQ(tree.errno_of("secret.npy"), EACCES);
  EXPECT_EQ(tree.errno_of("method.npy"), EOPNOTSUPP);
  EXPECT_EQ(tree.errno_of("lost.npy"), EIO);
  EXPECT_EQ(tree.errno_of("cut.npy"), 0);
  EXPECT_FALSE(tree.exists("cut.raw"));
  EXPECT_FALSE(tree.exists("secret.raw"));
  EXPECT_FALSE(tree.exists("lfs.raw"));
  EXPECT_TRUE(tree.exists("lfs.npy"));
  ASSERT_THAT(tree.problems(), SizeIs(5));
  EXPECT_EQ(tree.problems()[0].where, "x.npz: secret.npy");
  EXPECT_EQ(tree.problems()[0].errno_value, EACCES);
  EXPECT_EQ(tree.size("secret.npy"), floats(1).size());
}

TEST_F(LoadTest, TheFirstTypeRuleThatMatchesAKeyCounts) {
  const auto bytes = npy_image("'<V1'", {3}, counting_bytes(3));
  const LoadedTree tree =
      npz(NpzBuilder()
              .stored("layer/0/w.npy", bytes)
              .stored("layer/1/w.npy", bytes)
              .stored("other.npy", bytes)
              .stored("s.npy", npy_image("[('a', '<i4')]", {1}, counting_bytes(4))),
          {.split = std::nullopt,
           .types = {{"layer/0/*", "float8_e5m2"}, {"layer*w", "float8_e4m3fn"}, {"s", "int8"}},
           .confine_links = false});
  const auto dtype = [&](const std::string& path) {
    return nlohmann::json::parse(tree.text(path + ".meta.json"))["dtype"];
  };
  EXPECT_EQ(dtype("layer/0/w"), "float8_e5m2");
  EXPECT_EQ(dtype("layer/1/w"), "float8_e4m3fn");
  EXPECT_NE(dtype("other"), "float8_e4m3fn");
  EXPECT_TRUE(tree.exists("layer/1/w.f32view.npy"));
  EXPECT_FALSE(tree.exists("other.f32view.npy"));
  EXPECT_THAT(std::string(nlohmann::json::parse(tree.text("s.meta.json"))["error"]),
              HasSubstr("--dtype"));
  EXPECT_TRUE(tree.exists("s.raw")) << "the bits stay";
}

TEST_F(LoadTest, TheEmptyArchiveIsAnEmptyMount) {
  EXPECT_THAT(npz(NpzBuilder()).names(), IsEmpty());
}

TEST_F(LoadTest, AnArchiveBehindOtherBytesLoads) {
  const LoadedTree tree =
      npz(NpzBuilder().stored("w.npy", floats(3)).prefix(bytes_of("#!/bin/sh\n")));
  EXPECT_EQ(tree.text("w.npy"), text(floats(3)));
  const auto manifest = nlohmann::json::parse(tree.text(".npyfs/manifest.json"));
  const std::string file = read_file(dir_.path("x.npz"));
  EXPECT_EQ(file.substr(manifest[0]["source"]["offset"].get<std::size_t>(), floats(3).size()),
            text(floats(3)));
}

TEST_F(LoadTest, OneImageIsAnArrayOfItsFilesName) {
  const LoadedTree tree(dir_.write("sub/w.npy", floats(3)));
  EXPECT_THAT(tree.names(), ElementsAre("w.npy", "w.raw", "w.u8view.npy", "w.meta.json"));
  EXPECT_EQ(tree.text("w.npy"), text(floats(3)));
  const auto manifest = nlohmann::json::parse(tree.text(".npyfs/manifest.json"));
  EXPECT_EQ(manifest[0]["source"]["file"], "w.npy");
  EXPECT_EQ(manifest[0]["source"]["offset"], 0);
  EXPECT_EQ(LoadedTree(dir_.write("other.dat", floats(3))).arrays(),
            std::vector<std::string>{"other.dat"});
}

TEST_F(LoadTest, SeveralImagesInOneFileAreParts) {
  const auto chunk = [](std::uint64_t rows) {
    return npy_image("'<f4'", {rows, 2}, counting_bytes(8 * rows));
  };
  const LoadedTree tree(dir_.write("w.npy", joined({chunk(4), chunk(4), chunk(2)})));
  EXPECT_THAT(tree.arrays(), ElementsAre("w", "w.parts/0", "w.parts/1", "w.parts/2", "w.concat"));
  EXPECT_EQ(tree.size("w.npy"), 3 * 128U + 80);
  EXPECT_EQ(tree.size("w.raw"), 32U) << "its views cover the first";
  EXPECT_EQ(tree.text("w.parts/2.npy"), text(chunk(2)));
  const std::string concat = tree.text("w.concat.npy");
  EXPECT_EQ(parse_npy_header(bytes_of(concat)).shape, Shape({10, 2}));
  EXPECT_EQ(concat.substr(128),
            text(joined({counting_bytes(32), counting_bytes(32), counting_bytes(16)})));
  EXPECT_TRUE(tree.exists("w.concat.u8view.npy"));
  EXPECT_TRUE(tree.exists("w.parts/0.meta.json"));
  const auto manifest = nlohmann::json::parse(tree.text(".npyfs/manifest.json"));
  EXPECT_EQ(manifest[2]["name"], "w.parts/1");
  EXPECT_EQ(manifest[2]["source"]["offset"], 128 + 32);
  EXPECT_FALSE(manifest[4]["source"].contains("offset"));
}

TEST_F(LoadTest, StoredMembersHavePartsAndDeflatedOnesDoNot) {
  const auto both = joined({floats(3), floats(4)});
  const LoadedTree tree = npz(NpzBuilder().stored("s.npy", both).deflated("d.npy", both));
  EXPECT_THAT(tree.arrays(), ElementsAre("s", "d", "s.parts/0", "s.parts/1", "s.concat"));
}

TEST_F(LoadTest, PartsThatDoNotFitTogetherHaveNoConcat) {
  const auto wide = npy_image("'<f4'", {2, 3}, counting_bytes(24));
  const auto doubles = npy_image("'<f8'", {3}, counting_bytes(24));
  const auto fortran = npy_image("'<f4'", {2, 3}, counting_bytes(24), true);
  const auto scalar = npy_image("'<f4'", {}, counting_bytes(4));
  const auto objects = npy_image("'|O'", {1}, counting_bytes(20));
  const auto arrays = [&](std::initializer_list<std::vector<std::byte>> images) {
    return LoadedTree(dir_.write("w.npy", joined(images))).arrays();
  };
  EXPECT_THAT(arrays({floats(3), wide}), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_THAT(arrays({floats(3), doubles}), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_THAT(arrays({wide, fortran}), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_THAT(arrays({fortran, fortran}), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_THAT(arrays({scalar, scalar}), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_THAT(arrays({floats(3), objects}), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_THAT(arrays({objects, objects}), ElementsAre("w")) << "where a pickle ends isn't known";
}

TEST_F(LoadTest, OneDimensionalPartsInFortranOrderFitTogether) {
  const auto part = npy_image("'<f4'", {3}, counting_bytes(12), true);
  const LoadedTree tree(dir_.write("w.npy", joined({part, part})));
  EXPECT_TRUE(tree.exists("w.concat.npy"));
  EXPECT_EQ(tree.text("w.concat.raw"), text(joined({counting_bytes(12), counting_bytes(12)})));
}

TEST_F(LoadTest, ALastPartThatIsCutIsDamagedAndThereIsNoConcat) {
  const auto second = floats(4);
  const std::vector<std::byte> cut(second.begin(), second.end() - 5);
  const LoadedTree tree(dir_.write("w.npy", joined({floats(3), cut})));
  EXPECT_THAT(tree.arrays(), ElementsAre("w", "w.parts/0", "w.parts/1"));
  EXPECT_EQ(tree.text("w.parts/1.npy"), text(cut));
  EXPECT_FALSE(tree.exists("w.parts/1.raw"));
  ASSERT_THAT(tree.problems(), SizeIs(1));
  EXPECT_THAT(tree.problems()[0].what, HasSubstr("cut short"));
}

TEST_F(LoadTest, TrailingBytesAreNoPart) {
  const LoadedTree tree(dir_.write("w.npy", joined({floats(3), counting_bytes(100)})));
  EXPECT_THAT(tree.arrays(), ElementsAre("w"));
  const LoadedTree parts(dir_.write("v.npy", joined({floats(3), floats(3), counting_bytes(100)})));
  EXPECT_THAT(parts.arrays(), ElementsAre("v", "v.parts/0", "v.parts/1", "v.concat"));
}

TEST_F(LoadTest, RealMembersWinOverParts) {
  const LoadedTree tree = npz(NpzBuilder()
                                  .stored("w.npy", joined({floats(3), floats(4)}))
                                  .stored("w.concat.npy", floats(1))
                                  .stored("w.parts/notes.txt", bytes_of("mine")));
  EXPECT_THAT(tree.arrays(), ElementsAre("w", "w.concat"));
  EXPECT_EQ(tree.text("w.concat.npy"), text(floats(1)));
  EXPECT_THAT(tree.names("w.parts"), ElementsAre("notes.txt"));
}

// numpy.core's scalar(dtype, bytes), of a type that is in the memo.
std::string pickled_scalar_of_two_bytes() { return "cnumpy.core.multiarray\nscalar\n(h\1C\2xytR"s; }

TEST_F(LoadTest, ArraysOfAPickleThatAreAlikeShareWhatIsKnownOfThem) {
  const std::string pickle = "\x80\3](cnumpy\ndtype\n(X\2\0\0\0i2\x89\x88tRq\1"s +
                             pickled_scalar_of_two_bytes() + pickled_scalar_of_two_bytes() +
                             pickled_scalar_of_two_bytes() + "e.";
  const LoadedTree tree(dir_.write("x.pkl", bytes_of(pickle)));
  ASSERT_THAT(tree.arrays(), ElementsAre("1", "2", "3"));
  const Catalog& catalog = tree.tree().catalog();
  std::set<const ArrayInfo*> infos;
  for (ItemId item = 0; item < catalog.count(); ++item) {
    if (catalog.kind(item) == ItemKind::kArray) {
      infos.insert(&catalog.info(item));
    }
  }
  EXPECT_THAT(infos, SizeIs(2)) << "the first has the notes of the pickle";
}

TEST_F(LoadTest, ObjectsThatCannotBeToldAreANoteOfTheirArray) {
  auto image = npy_image("'|O'", {2}, bytes_of("\x80\4\xff."));
  const LoadedTree tree(dir_.write("x.npz", NpzBuilder().stored("a.npy", image).bytes()));
  const std::string text =
      "pickle instruction 0xff at 130: no such instruction; damaged, or no pickle: fetch or write "
      "it again";
  ASSERT_THAT(tree.problems(), SizeIs(1));
  EXPECT_EQ(tree.problems()[0].what, "x.npz: a.npy: " + text);
  EXPECT_THAT(tree.text("a.meta.json"), testing::HasSubstr("its objects can't be told: " + text));
}

TEST_F(LoadTest, BytesWithASidecarBesideThemAreAnArray) {
  dir_.write("w_meta.json", bytes_of(R"({"shape": [2, 3], "dtype": "float8_e5m2"})"));
  const LoadedTree tree(dir_.write("w.npy", counting_bytes(6)));
  EXPECT_EQ(tree.text("w.raw"), text(counting_bytes(6)));
  EXPECT_TRUE(tree.exists("w.f32view.npy"));
  EXPECT_THAT([&] { LoadedTree(dir_.write("w.npy", counting_bytes(7))); },
              fails(EIO, "needs 6 bytes, 7 are there"));
}

TEST_F(LoadTest, ASidecarBesideTheFileMayTellTheTypeAlone) {
  dir_.write("w.meta.json", bytes_of(R"({"dtype": "float8_e5m2fnuz"})"));
  const LoadedTree tree(dir_.write("w.npy", npy_image("'<V1'", {3}, counting_bytes(3))));
  EXPECT_TRUE(tree.exists("w.f32view.npy"));
  EXPECT_THAT([&] { LoadedTree(dir_.write("w.bin", counting_bytes(7))); },
              fails(EIO, "w.bin: the sidecar: no shape for 7 bytes"));
}

TEST_F(LoadTest, WhatIsNoContainerIsRefusedWithWhatItIs) {
  const auto refused = [&](const std::string& name, std::string_view content) {
    return [this, name, content] { LoadedTree(dir_.write(name, bytes_of(content))); };
  };
  EXPECT_THAT(refused("x.npz", "<!DOCTYPE html><html>"), fails(EIO, "an HTML page"));
  EXPECT_THAT(refused("x.npz", ""), fails(EIO, "an empty file"));
  EXPECT_THAT(refused("x.npy", "version https://git-lfs.github.com/spec/v1\nsize 123\n"),
              fails(EIO, "123 bytes"));
  EXPECT_THAT(refused("x.txt", "just text"), fails(EIO, "neither a .npz archive nor a .npy image"));
  EXPECT_THAT(refused("x.npz", "PK\3\4 and then"), fails(EIO, "no central directory"));
  EXPECT_THAT(refused("x.npy", "\x93NUMPY\1"), fails(EIO, "inside its header"));
  EXPECT_THAT(refused("x.npy", std::string_view("\x93NUMPY\1\0\x10\0nonsense        ", 26)),
              fails(EIO, dir_.path("x.npy")));
  EXPECT_THAT([&] { LoadedTree(dir_.path("nowhere")); }, fails(ENOENT, dir_.path("nowhere")));
}

TEST_F(LoadTest, ACutArchiveSaysHowFarItGoes) {
  const auto bytes = NpzBuilder().stored("a.npy", floats(100)).stored("b.npy", floats(100)).bytes();
  const Bytes cut = Bytes(bytes).first(bytes.size() - 120);
  EXPECT_THAT(
      [&] { LoadedTree(dir_.write("x.npz", cut)); },
      fails(EIO,
            "x.npz: the zip archive has no central directory at its end, so it was cut short; "));
}

}  // namespace
}  // namespace npyfs
