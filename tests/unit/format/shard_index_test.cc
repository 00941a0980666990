#include "npyfs/format/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

std::vector<std::string> candidates(const std::string& path,
                                    const std::string& directory = "/data/model") {
  return shard_candidates({.key = "key", .path = path}, directory);
}

// UCS-4, as NumPy stores text.
std::vector<std::byte> ucs4(std::u32string_view text, bool big_endian = false) {
  std::vector<std::byte> bytes;
  for (const char32_t code : text) {
    for (unsigned i = 0; i < 4; ++i) {
      bytes.push_back(static_cast<std::byte>(code >> (big_endian ? 24 - 8 * i : 8 * i) & 0xFF));
    }
  }
  return bytes;
}

std::vector<std::byte> text_image(std::u32string_view text) {
  return npy_image("'<U" + std::to_string(text.size()) + "'", {}, ucs4(text));
}

TEST(ElementTextTest, IsUtf8UpToTheTrailingNuls) {
  EXPECT_EQ(element_text(ucs4(U"aü中🐢"), DtypeKind::kText, false), "aü中🐢");
  EXPECT_EQ(element_text(ucs4(std::u32string_view(U"a\0b\0\0", 5)), DtypeKind::kText, false),
            std::string("a\0b", 3));
  EXPECT_EQ(element_text(ucs4(U"aü中🐢", true), DtypeKind::kText, true), "aü中🐢");
  EXPECT_EQ(element_text({}, DtypeKind::kText, false), "");
  EXPECT_EQ(element_text(bytes_of(std::string_view("a\0b\0\0", 5)), DtypeKind::kBytes, false),
            std::string("a\0b", 3));
}

TEST(ElementTextTest, RefusesWhatIsNoCharacter) {
  EXPECT_THAT(
      [] { element_text(ucs4(std::u32string(1, char32_t{0x110000})), DtypeKind::kText, false); },
      ThrowsMessage<Error>(HasSubstr("1114112 is no character")));
  EXPECT_THAT(
      [] { element_text(ucs4(std::u32string(1, char32_t{0xD800})), DtypeKind::kText, false); },
      ThrowsMessage<Error>(HasSubstr("is no character")));
}

// What a path may be, in the order in which it is tried.
TEST(ShardCandidatesTest, APathThenItsSuffixesThenTheKey) {
  EXPECT_THAT(candidates("runs/model/w.npy"),
              ElementsAre("runs/model/w.npy", "model/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("./a//./w.npy"), ElementsAre("a/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("key.npy"), ElementsAre("key.npy"));
}

TEST(ShardCandidatesTest, AnAbsolutePathInsideComesFirst) {
  EXPECT_THAT(
      candidates("/data/model/sub/w.npy"),
      ElementsAre("sub/w.npy", "data/model/sub/w.npy", "model/sub/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("/data/model2/w.npy"),
              ElementsAre("data/model2/w.npy", "model2/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("/w.npy", "/"), ElementsAre("w.npy", "key.npy"));
  EXPECT_THAT(candidates("/data/model"), ElementsAre("data/model", "model", "key.npy"));
}

TEST(ShardCandidatesTest, BackslashesSeparateWhereWindowsWrote) {
  EXPECT_THAT(candidates("C:\\runs\\w.npy"),
              ElementsAre("C:/runs/w.npy", "runs/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("model\\w.npy"), ElementsAre("model/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("d:mixed/a\\w.npy"),
              ElementsAre("d:mixed/a/w.npy", "a/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("dir/a\\b.npy"), ElementsAre("dir/a\\b.npy", "a\\b.npy", "key.npy"));
}

TEST(ShardCandidatesTest, AreFewHoweverLongThePathIs) {
  std::string path;
  for (int i = 0; i < 2000; ++i) {
    path += "d/";
  }
  const auto found = candidates(path + "w.npy");
  EXPECT_THAT(found, SizeIs(102));  // 100 suffixes, of which the whole path is one
  EXPECT_EQ(found.front(), path + "w.npy");
  EXPECT_EQ(found[99].size(), found.front().size() - 2 * 99);
  EXPECT_THAT(std::vector(found.end() - 2, found.end()), ElementsAre("w.npy", "key.npy"));
}

TEST(ShardCandidatesTest, NoneLeadsOut) {
  EXPECT_THAT(candidates("../../etc/passwd"), ElementsAre("etc/passwd", "passwd", "key.npy"));
  EXPECT_THAT(candidates("a/../../x/w.npy"), ElementsAre("x/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("a/b/../w.npy"), ElementsAre("a/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("/data/model/../other/w.npy"),
              ElementsAre("other/w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates(".."), ElementsAre("key.npy"));
  EXPECT_THAT(candidates("a/.."), ElementsAre("key.npy"));
  EXPECT_THAT(candidates(""), ElementsAre("key.npy"));
  EXPECT_THAT(candidates("/"), ElementsAre("key.npy"));
  EXPECT_THAT(shard_candidates({.key = "../up", .path = ""}, "/data"), IsEmpty());
  EXPECT_THAT(shard_candidates({.key = "/abs", .path = ""}, "/data"), ElementsAre("abs.npy"));
}

TEST(ShardCandidatesTest, DotsInsideANameAreNothingSpecial) {
  EXPECT_THAT(candidates("x/a../w.npy"),
              ElementsAre("x/a../w.npy", "a../w.npy", "w.npy", "key.npy"));
  EXPECT_THAT(candidates("..x/w.npy"), ElementsAre("..x/w.npy", "w.npy", "key.npy"));
}

TEST(ShardCandidatesTest, WhatNoFileCanBeCalledIsNotTried) {
  EXPECT_THAT(candidates(std::string("a\0b/w.npy", 9)), ElementsAre("w.npy", "key.npy"));
  for (const std::string& candidate :
       candidates(text_of(std::string(5000, 'x'), std::string(5000, '/'), "w.npy"))) {
    EXPECT_LT(candidate.size(), 4096U);
  }
}

class ReadShardIndexTest : public testing::Test {
 protected:
  ShardIndex read(const NpzBuilder& builder) {
    npz_ = Npz::read(File::open(dir_.write("index.npz", builder.bytes())), "index.npz",
                     std::make_shared<Decoder>());
    return read_shard_index(*npz_);
  }

  TempDir dir_;
  std::unique_ptr<const Npz> npz_;
};

TEST_F(ReadShardIndexTest, ReadsEveryKindOfString) {
  const ShardIndex index = read(NpzBuilder()
                                    .stored("u.npy", text_image(U"model/ü.npy"))
                                    .stored("s.npy", npy_image("'|S9'", {}, bytes_of("model/s.n")))
                                    .deflated("b.npy", npy_image("'>U5'", {}, ucs4(U"b.npy", true)))
                                    .stored("e.npy", npy_image("'<U0'", {}, {})));
  ASSERT_EQ(index.entries.size(), 4U);
  EXPECT_EQ(index.entries[0].key, "u");
  EXPECT_EQ(index.entries[0].path, "model/ü.npy");
  EXPECT_EQ(index.entries[1].path, "model/s.n");
  EXPECT_EQ(index.entries[2].path, "b.npy");
  EXPECT_EQ(index.entries[2].member, 2U);
  EXPECT_EQ(index.entries[3].path, "");
  EXPECT_THAT(index.others, IsEmpty());
}

TEST_F(ReadShardIndexTest, KnowsWhatIsNoPath) {
  const ShardIndex index =
      read(NpzBuilder()
               .stored("a.npy", npy_image("'<f4'", {2}, counting_bytes(8)))
               .stored("b.npy", npy_image("'<U1'", {1}, ucs4(U"x")))
               .stored("c.npy", npy_image("'<U20000'", {}, counting_bytes(80'000)))
               .stored("d.txt", bytes_of("plain"))
               .stored("e.npy", text_image(U"x.npy"))
               .stored("f.npy", npy_image("'|O'", {}, bytes_of("pickle"))));
  EXPECT_EQ(index.entries.size(), 1U);
  EXPECT_THAT(index.others, ElementsAre(0U, 1U, 2U, 5U));
  EXPECT_THAT(index.unreadable, IsEmpty());
}

TEST_F(ReadShardIndexTest, OneBadStringLeavesTheOthers) {
  const ShardIndex index =
      read(NpzBuilder()
               .stored("bad.npy", npy_image("'<U1'", {}, ucs4(std::u32string(1, char32_t{0xDC00}))))
               .stored("good.npy", text_image(U"x.npy"))
               .deflated("crc.npy", text_image(U"y.npy"))
               .with_wrong_crc());
  ASSERT_EQ(index.entries.size(), 1U);
  EXPECT_EQ(index.entries[0].key, "good");
  EXPECT_EQ(index.unreadable.size(), 2U);
}

TEST_F(ReadShardIndexTest, OfTwoEntriesOfOneKeyTheLastCounts) {
  const ShardIndex index = read(
      NpzBuilder().stored("a.npy", text_image(U"old.npy")).stored("a.npy", text_image(U"new.npy")));
  ASSERT_EQ(index.entries.size(), 1U);
  EXPECT_EQ(index.entries[0].path, "new.npy");
}

}  // namespace
}  // namespace npyfs
