// ls, info, cat and extract on small archives.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/npz_builder.h"
#include "support/temp_dir.h"
#include "unit/cli/command_line.h"

namespace npyfs {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class VerbsTest : public testing::Test {
 protected:
  const std::vector<std::byte> data_ = counting_bytes(24);
  const std::vector<std::byte> weight_ = npy_image("'<f4'", Shape{2, 3}, data_);
  const std::vector<std::byte> code_ = npy_image("'|V1'", Shape{24}, data_);
  TempDir dir_;
  // A sound stored array, a deflated one below two directories, one of an open type, a plain file.
  const std::string sound_ = dir_.write("w.npz", NpzBuilder()
                                                     .stored("w.npy", weight_)
                                                     .deflated("layer/0/b.npy", weight_)
                                                     .stored("fp8.npy", code_)
                                                     .stored("notes.txt", bytes_of("hello"))
                                                     .bytes());
  // The second can't be opened, the third turns out wrong only when read to its end.
  const std::string broken_ = dir_.write("broken.npz", NpzBuilder()
                                                           .stored("good.npy", weight_)
                                                           .stored("locked.npy", weight_)
                                                           .with_flags(1)
                                                           .deflated("crc.npy", weight_)
                                                           .with_wrong_crc()
                                                           .bytes());
};

TEST_F(VerbsTest, LsPrintsPathsInTheOrderOfTheSource) {
  const Outcome ls = npyfs({"ls", sound_});
  EXPECT_EQ(ls.status, 0);
  EXPECT_EQ(ls.out, "w\nlayer/0/b\nfp8\n");
  EXPECT_THAT(ls.err, IsEmpty());
}

TEST_F(VerbsTest, LsMarksDamageOnTheLine) {
  const Outcome ls = npyfs({"ls", broken_});
  EXPECT_EQ(ls.status, 0);
  EXPECT_THAT(ls.out, AllOf(StartsWith("good\nlocked  ! "), HasSubstr("encrypted")));
}

TEST_F(VerbsTest, LsTakesGlobsThatCrossDirectories) {
  EXPECT_EQ(npyfs({"ls", sound_, "*b"}).out, "layer/0/b\n");
  EXPECT_EQ(npyfs({"ls", sound_, "f*", "w"}).out, "w\nfp8\n");
}

TEST_F(VerbsTest, LsFailsIfAGlobFitsNothing) {
  const Outcome ls = npyfs({"ls", sound_, "w", "q*"});
  EXPECT_EQ(ls.status, 1);
  EXPECT_EQ(ls.out, "w\n");
  EXPECT_EQ(ls.err, "npyfs: " + sound_ + ": no array's key fits 'q*'\n");
}

TEST_F(VerbsTest, LsPrintsATable) {
  EXPECT_EQ(npyfs({"ls", "-l", sound_, "w", "fp8"}).out,
            "name  dtype     shape  bytes  stored  compression\n"
            "w     float32  (2, 3)   24 B   152 B  stored\n"
            "fp8   |V1?      (24,)   24 B   152 B  stored\n"
            "2 arrays, 48 B, 304 B stored\n");
}

TEST_F(VerbsTest, LsPrintsTheManifestsEntriesAsJson) {
  const auto list = nlohmann::json::parse(npyfs({"ls", "--json", sound_}).out);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1]["path"], "layer/0/b");
  EXPECT_EQ(list[1]["source"]["compression"], "deflate");
  EXPECT_EQ(nlohmann::json::parse(npyfs({"cat", sound_, ".npyfs/manifest.json"}).out), list);
}

TEST_F(VerbsTest, LsPrintsAnEmptyJsonListWhereThereIsNothing) {
  const std::string empty = dir_.write("empty.npz", NpzBuilder().bytes());
  EXPECT_TRUE(nlohmann::json::parse(npyfs({"ls", "--json", empty}).out).empty());
}

TEST_F(VerbsTest, LsMarksWhatAnIndexNamesAndIsntThere) {
  const std::vector<std::byte> path = {std::byte{'x'}, {}, {}, {}, std::byte{'.'}, {}, {}, {},
                                       std::byte{'n'}, {}, {}, {}, std::byte{'p'}, {}, {}, {},
                                       std::byte{'y'}, {}, {}, {}};
  dir_.write("ck/index.npz", NpzBuilder().stored("gone.npy", npy_image("'<U5'", {}, path)).bytes());
  const Outcome ls = npyfs({"ls", dir_.path("ck")});
  EXPECT_THAT(ls.out, AllOf(StartsWith("gone  ! missing: "), HasSubstr("x.npy")));
  EXPECT_THAT(npyfs({"info", dir_.path("ck")}).out, HasSubstr("1 more missing"));
  EXPECT_EQ(npyfs({"extract", dir_.path("ck"), dir_.path("out")}).status, 1);
}

TEST_F(VerbsTest, SplitMakesDirectoriesOfKeys) {
  const std::string dotted =
      dir_.write("d.npz", NpzBuilder().stored("layer.0.w.npy", weight_).bytes());
  EXPECT_EQ(npyfs({"ls", "--split", ".", dotted}).out, "layer/0/w\n");
}

TEST_F(VerbsTest, DtypeSettlesAnOpenType) {
  const Outcome info = npyfs({"info", "--dtype", "fp*=float8_e5m2", sound_, "fp8"});
  EXPECT_THAT(info.out, AllOf(HasSubstr("float8_e5m2"), HasSubstr("--dtype says")));
}

TEST_F(VerbsTest, InfoSumsUpTheSource) {
  const Outcome info = npyfs({"info", sound_});
  EXPECT_EQ(info.status, 0);
  EXPECT_THAT(info.out, AllOf(StartsWith(sound_ + ": .npz archive\n"), HasSubstr("arrays      3\n"),
                              HasSubstr("bytes       72 B\n"), HasSubstr("float32          2\n"),
                              HasSubstr("other files 1\n")));
}

TEST_F(VerbsTest, InfoSumsUpAsJson) {
  const auto summary = nlohmann::json::parse(npyfs({"info", "--json", broken_}).out);
  EXPECT_EQ(summary["kind"], "npz");
  EXPECT_EQ(summary["arrays"], 3);
  EXPECT_EQ(summary["damaged"], 1);
  EXPECT_EQ(summary["problems"].size(), 1U);
}

TEST_F(VerbsTest, InfoTellsWhatAnArrayIs) {
  const Outcome info = npyfs({"info", sound_, "layer/0/b"});
  EXPECT_THAT(info.out, AllOf(StartsWith("layer/0/b\n"), HasSubstr("float32, as the header says"),
                              HasSubstr("(2, 3), C order"), HasSubstr("6 of 4 bytes: 24 bytes"),
                              HasSubstr("deflate"), HasSubstr("b.u8view.npy")));
}

TEST_F(VerbsTest, InfoTellsHowToSettleAnOpenType) {
  const Outcome info = npyfs({"info", sound_, "fp8"});
  EXPECT_THAT(info.out, AllOf(HasSubstr("could be"), HasSubstr("--dtype 'fp8=float8_e4m3fn'")));
}

TEST_F(VerbsTest, InfoTakesPathsWithASuffixToo) {
  EXPECT_THAT(npyfs({"info", sound_, "w.u8view.npy"}).out, StartsWith("w\n"));
}

TEST_F(VerbsTest, InfoSuggestsANameForOneThatIsntThere) {
  const Outcome info = npyfs({"info", sound_, "fp9"});
  EXPECT_EQ(info.status, 1);
  EXPECT_THAT(info.err, HasSubstr("did you mean fp8?"));
}

TEST_F(VerbsTest, CatWritesFilesOneAfterAnother) {
  const std::string raw(text_view(data_));
  EXPECT_EQ(npyfs({"cat", sound_, "w.raw", "./layer/0/b.raw", "notes.txt"}).out,
            raw + raw + "hello");
  EXPECT_EQ(npyfs({"cat", sound_, "layer/0/b.npy"}).out, text_view(weight_));
}

TEST_F(VerbsTest, CatGoesOnAfterAPathThatFails) {
  const Outcome cat = npyfs({"cat", sound_, "w", "layer", "notes.txt", "notes.txt/x"});
  EXPECT_EQ(cat.status, 1);
  EXPECT_EQ(cat.out, "hello");
  EXPECT_THAT(cat.err, AllOf(HasSubstr("w: no such file; the array's files are w.npy, w.raw"),
                             HasSubstr("layer: a directory"), HasSubstr("notes.txt is a file")));
}

TEST_F(VerbsTest, CatSaysWhatIsWrongWithAMember) {
  const Outcome cat = npyfs({"cat", broken_, "locked.npy"});
  EXPECT_EQ(cat.status, 1);
  EXPECT_THAT(cat.err, StartsWith("npyfs: " + broken_ + ": locked.npy: "));
}

TEST_F(VerbsTest, CatKnowsThatStatisticsNeedAMount) {
  EXPECT_THAT(npyfs({"cat", sound_, ".npyfs/stats.json"}).err, HasSubstr("only a mount has it"));
}

TEST_F(VerbsTest, ExtractWritesTheImagesOfAllArrays) {
  const Outcome extract = npyfs({"extract", sound_, dir_.path("out")});
  EXPECT_EQ(extract.status, 0);
  EXPECT_EQ(extract.out, "3 files extracted, 456 B\n");
  EXPECT_THAT(extract.err, IsEmpty());
  EXPECT_EQ(read_file(dir_.path("out/layer/0/b.npy")), text_view(weight_));
  EXPECT_FALSE(fs::exists(dir_.path("out/notes.txt")));
}

TEST_F(VerbsTest, ExtractSkipsWhatIsThereAlready) {
  npyfs({"extract", sound_, dir_.path("out"), "w"});
  const Outcome again = npyfs({"extract", sound_, dir_.path("out")});
  EXPECT_EQ(again.out, "2 files extracted, 304 B; 1 skipped, there already with the same size\n");
}

TEST_F(VerbsTest, ExtractWritesTheViewsThatAreAskedFor) {
  EXPECT_EQ(npyfs({"extract", "--views", "raw:u8view", sound_, dir_.path("out"), "w"}).status, 0);
  EXPECT_EQ(read_file(dir_.path("out/w.raw")), text_view(data_));
  EXPECT_TRUE(fs::exists(dir_.path("out/w.u8view.npy")));
  EXPECT_FALSE(fs::exists(dir_.path("out/w.npy")));
}

TEST_F(VerbsTest, ExtractLeavesDamagedArraysOutAndSaysSo) {
  const Outcome extract = npyfs({"extract", broken_, dir_.path("out")});
  EXPECT_EQ(extract.status, 1);
  EXPECT_EQ(extract.out, "1 file extracted, 152 B; 2 failed\n");
  EXPECT_THAT(extract.err,
              AllOf(HasSubstr(broken_ + ": locked.npy: "), HasSubstr(broken_ + ": crc.npy: ")));
  const auto files =
      std::distance(fs::directory_iterator(dir_.path("out")), fs::directory_iterator());
  EXPECT_EQ(files, 1);
}

TEST_F(VerbsTest, ExtractStopsWhereItCantWrite) {
  dir_.write("out/layer", bytes_of("in the way"));
  const Outcome extract = npyfs({"extract", sound_, dir_.path("out")});
  EXPECT_EQ(extract.status, 1);
  EXPECT_THAT(extract.err, StartsWith("npyfs: " + dir_.path("out/layer") + ": "));
}

TEST_F(VerbsTest, NamesWhatASourceReallyIs) {
  const std::string page = dir_.write("page.npz", bytes_of("<!DOCTYPE html><html></html>"));
  for (const char* verb : {"ls", "info"}) {
    const Outcome outcome = npyfs({verb, page});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("npyfs: " + page + ": "), HasSubstr("HTML")));
  }
  EXPECT_THAT(npyfs({"ls", dir_.path("none.npz")}).err, HasSubstr("none.npz: No such file"));
}

TEST_F(VerbsTest, PrintsNoControlBytesOfNames) {
  const std::string path =
      dir_.write("c.npz", NpzBuilder().stored("a\x1b[2Jb.npy", weight_).bytes());
  for (const char* verb : {"ls", "info"}) {
    EXPECT_THAT(npyfs({verb, path, "*"}).out, Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace npyfs
