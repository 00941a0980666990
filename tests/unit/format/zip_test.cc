#include "npyfs/format/zip.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/counting_source.h"
#include "support/deflate_bytes.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// python3 -c "import bz2; print(bz2.compress(b'ABCDE' * 20))"
constexpr std::string_view kBzip2 =
    "BZh91AY&SYW*\213?\000\000\011\204\000>\000 \0000\315\000R\211\247\023\011\244\3618\237\027rE8P\220W*\213?"sv;

std::unique_ptr<const ZipArchive> read(SourcePtr source) {
  const auto no_head = [](const ZipArchive&, std::uint32_t, Bytes, bool) { return std::size_t{0}; };
  return ZipArchive::read(std::move(source), std::make_shared<Decoder>(), no_head,
                          [](std::uint32_t) {});
}

std::unique_ptr<const ZipArchive> read(const NpzBuilder& builder) {
  return read(memory(builder.bytes()));
}

std::string content(const ZipArchive& archive, std::uint32_t index) {
  const SourcePtr source = archive.open(index);
  const auto bytes = read_bytes(*source, 0, source->size());
  return std::string(text_view(bytes));
}

std::vector<std::string> names(const ZipArchive& archive) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < archive.count(); ++i) {
    names.push_back(archive.name(i));
  }
  return names;
}

// Two members, whole and right.
testing::AssertionResult is_pair(const ZipArchive& archive) {
  if (names(archive) != std::vector<std::string>{"a.npy", "b.npy"}) {
    return testing::AssertionFailure() << testing::PrintToString(names(archive));
  }
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (archive.fault(i) != nullptr) {
      return testing::AssertionFailure()
             << archive.name(i) << ": " << archive.fault(i)->error.what();
    }
  }
  if (content(archive, 0) != "first" || content(archive, 1) != std::string(1000, 'b')) {
    return testing::AssertionFailure() << "the bytes differ";
  }
  return testing::AssertionSuccess();
}

// Adds "b.npy" to what has "a.npy" already.
NpzBuilder pair(NpzBuilder builder) {
  return builder.deflated("b.npy", bytes_of(std::string(1000, 'b')));
}
NpzBuilder first() { return NpzBuilder().stored("a.npy", bytes_of("first")); }

TEST(ZipArchiveTest, ReadsStoredAndDeflatedMembers) { EXPECT_TRUE(is_pair(*read(pair(first())))); }

TEST(ZipArchiveTest, ReadsLocalHeadersOfEveryShape) {
  EXPECT_TRUE(is_pair(*read(pair(first().with_zip64_local_header()).with_zip64_local_header())));
  EXPECT_TRUE(is_pair(*read(pair(first().with_data_descriptor()).with_data_descriptor())));
  EXPECT_TRUE(is_pair(*read(pair(first().with_data_descriptor().with_zip64_local_header()))));
  EXPECT_TRUE(is_pair(*read(pair(first().with_padding(60'000)).with_padding(1))));
  EXPECT_TRUE(is_pair(*read(pair(first().with_date(0)).with_date(0))));
}

TEST(ZipArchiveTest, ReadsEndsOfEveryShape) {
  EXPECT_TRUE(is_pair(*read(pair(first()).comment("PK\5\6 is only text"))));
  EXPECT_TRUE(is_pair(*read(pair(first()).zip64_end())));
  EXPECT_TRUE(is_pair(*read(pair(first()).zip64_end(64))));
  EXPECT_TRUE(is_pair(*read(pair(first()).trailing(bytes_of(std::string(4096, '\0'))))));
  EXPECT_TRUE(is_pair(*read(pair(first()).trailing(bytes_of("0123456789")))));
}

TEST(ZipArchiveTest, ReadsAnArchiveBehindOtherBytes) {
  EXPECT_TRUE(is_pair(*read(pair(first()).prefix(bytes_of("#!/bin/sh\n")))));
  EXPECT_TRUE(is_pair(*read(pair(first()).counted_prefix(bytes_of("#!/bin/sh\n")))));
  EXPECT_TRUE(is_pair(*read(pair(first()).prefix(bytes_of("#!/bin/sh\n")).zip64_end())));
  EXPECT_TRUE(is_pair(*read(pair(first()).prefix(bytes_of(std::string(100'000, '\0'))))));
}

TEST(ZipArchiveTest, OfTwoArchivesOneAfterAnotherReadsTheLast) {
  const auto other = NpzBuilder().stored("other", bytes_of("x")).bytes();
  EXPECT_TRUE(is_pair(*read(pair(first()).prefix(other))));
}

// np.savez twice into one open file: the second archive's offsets count from the first's start.
TEST(ZipArchiveTest, OfTwoArchivesWrittenIntoOneFileReadsTheLast) {
  const auto other = NpzBuilder().stored("a.npy", bytes_of("other")).bytes();
  EXPECT_TRUE(is_pair(*read(pair(first()).counted_prefix(other))));
  EXPECT_TRUE(is_pair(*read(pair(first()).counted_prefix(other).zip64_end())));
  EXPECT_TRUE(is_pair(*read(pair(first()).counted_prefix(NpzBuilder().bytes()))));
  EXPECT_EQ(read(NpzBuilder().counted_prefix(other))->count(), 0U);
}

TEST(ZipArchiveTest, AnArchiveInAMemberIsThatMembersContent) {
  const auto inner = pair(first()).bytes();
  const auto archive = read(first().stored("inner.npz", inner));
  EXPECT_EQ(names(*archive), (std::vector<std::string>{"a.npy", "inner.npz"}));
  EXPECT_EQ(content(*archive, 1), text_view(inner));
}

TEST(ZipArchiveTest, IgnoresFieldsItDoesNotKnow) {
  EXPECT_TRUE(is_pair(*read(pair(first().with_central_extra(bytes_of("UT\x05\0\0\0\0\0\0"sv))))));
  // Of zip64, though nothing needs it.
  std::string zip64("\1\0\x18\0"sv);
  zip64.append(24, '\0');
  EXPECT_TRUE(is_pair(*read(pair(first().with_central_extra(bytes_of(zip64))))));
}

TEST(ZipArchiveTest, TheEmptyArchiveHasNoMembers) { EXPECT_EQ(read(NpzBuilder())->count(), 0U); }

TEST(ZipArchiveTest, KnowsTheOffsetOfAStoredMembersData) {
  const auto bytes = pair(first().with_padding(33)).prefix(bytes_of("prefix")).bytes();
  const auto archive = read(memory(bytes));
  EXPECT_EQ(archive->member(0).data_offset, text_view(bytes).find("first"));
}

TEST(ZipArchiveTest, EmptyMembersAreEmpty) {
  const auto archive = read(NpzBuilder().stored("s", {}).deflated("d", {}).stored("dir/", {}));
  EXPECT_EQ(content(*archive, 0), "");
  EXPECT_EQ(content(*archive, 1), "");
  EXPECT_EQ(archive->fault(0), nullptr);
  EXPECT_EQ(archive->fault(1), nullptr);
  EXPECT_EQ(archive->fault(2), nullptr);
}

TEST(ZipArchiveTest, NamesAreUtf8OrElseCodePage437) {
  const auto archive = read(NpzBuilder()
                                .stored("ü", bytes_of("1"))
                                .stored("ü", bytes_of("2"))
                                .with_flags(0x800)
                                .stored("caf\x82", bytes_of("3"))
                                .stored("caf\x82!", bytes_of("4"))
                                .with_flags(0x800)
                                .stored("x\\y", bytes_of("5"))
                                .stored("cut\0off"sv, bytes_of("6"))
                                .stored("", bytes_of("7")));
  EXPECT_THAT(names(*archive), ElementsAre("ü", "ü", "café", "café!", "x\\y", "cut", ""));
  for (std::uint32_t i = 0; i < archive->count(); ++i) {
    EXPECT_EQ(content(*archive, i), std::to_string(i + 1));
  }
  EXPECT_EQ(archive->raw_name(2), "caf\x82");
}

TEST(ZipArchiveTest, OfMembersWithOneNameTheLastCounts) {
  const auto archive = read(NpzBuilder()
                                .stored("a", bytes_of("1"))
                                .stored("b", bytes_of("2"))
                                .stored("a", bytes_of("3"))
                                .stored("a", bytes_of("4")));
  EXPECT_TRUE(archive->member(0).is_superseded);
  EXPECT_FALSE(archive->member(1).is_superseded);
  EXPECT_TRUE(archive->member(2).is_superseded);
  EXPECT_FALSE(archive->member(3).is_superseded);
}

TEST(ZipArchiveTest, MoreMembersThanAnEndRecordCanCount) {
  NpzBuilder builder;
  for (int i = 0; i < 70'000; ++i) {
    builder.stored(std::to_string(i), bytes_of("x"));
  }
  const auto archive = read(builder);
  ASSERT_EQ(archive->count(), 70'000U);
  EXPECT_EQ(archive->name(69'999), "69999");
  EXPECT_EQ(content(*archive, 69'999), "x");
}

// What kBzip2 decodes to.
std::string plain_text() {
  std::string plain;
  for (int i = 0; i < 20; ++i) {
    plain += "ABCDE";
  }
  return plain;
}

TEST(ZipArchiveTest, ReadsMembersOfAMethodThatLibzipKnows) {
  const auto archive =
      read(NpzBuilder().member("a", 12, bytes_of(kBzip2), 100, crc32_of(bytes_of(plain_text()))));
  ASSERT_EQ(archive->fault(0), nullptr) << archive->fault(0)->error.what();
  EXPECT_EQ(content(*archive, 0), plain_text());
}

TEST(ZipArchiveTest, AMemberForLibzipCostsNoMoreInALargeArchive) {
  const std::uint32_t crc32 = crc32_of(bytes_of(plain_text()));
  NpzBuilder builder;
  for (int i = 0; i < 1000; ++i) {
    builder.member(std::to_string(i), 12, bytes_of(kBzip2), 100, crc32);
  }
  const auto source = std::make_shared<CountingSource>(memory(builder.bytes()));
  const auto read_bytes_of_source = [&] {
    std::uint64_t total = 0;
    for (const auto& each : source->reads()) {
      total += each.length;
    }
    source->forget();
    return total;
  };
  const auto archive = read(source);
  EXPECT_LT(read_bytes_of_source(), 2'000'000U);
  EXPECT_EQ(content(*archive, 999), plain_text());
  EXPECT_LT(read_bytes_of_source(), 1000U);
}

TEST(ZipArchiveTest, RefusesWhatHasNoDirectory) {
  auto bytes = pair(first()).bytes();
  bytes.resize(bytes.size() - 10);
  EXPECT_THAT([&] { read(memory(bytes)); },
              ThrowsMessage<Error>(HasSubstr("2 complete members end at byte")));
}

TEST(ZipArchiveTest, ReadsOnceAtEachMemberWhenItStarts) {
  NpzBuilder builder;
  const auto image = npy_image("'<f4'", {1000}, counting_bytes(4000));
  for (int i = 0; i < 100; ++i) {
    builder.stored(std::to_string(i) + ".npy", image);
  }
  const auto source = std::make_shared<CountingSource>(memory(builder.bytes()));
  std::atomic<int> heads = 0;
  ZipArchive::read(
      source, std::make_shared<Decoder>(),
      [&](const ZipArchive&, std::uint32_t, Bytes head, bool is_all) {
        heads += head.size() == ZipArchive::kFirstHead && !is_all ? 1 : 0;
        return std::size_t{0};
      },
      [](std::uint32_t) {});
  EXPECT_EQ(heads, 100);
  std::size_t small = 0;
  std::uint64_t total = 0;
  for (const auto& read : source->reads()) {
    small += read.length <= 600 ? 1 : 0;
    total += read.length;
  }
  EXPECT_LE(small, 100U + 10);  // the directory besides
  EXPECT_LT(total, 200'000U);
}

TEST(ZipArchiveTest, OpeningAMemberReadsNothing) {
  const auto source = std::make_shared<CountingSource>(memory(pair(first()).bytes()));
  const auto archive = read(source);
  source->forget();
  archive->open(0);
  archive->open(1);
  EXPECT_TRUE(source->reads().empty());
}

class HeadTest : public testing::Test {
 protected:
  // Reads, and asks for `wanted` bytes of each member whenever that is more than it got.
  void read_heads(const NpzBuilder& builder, std::size_t wanted) {
    ZipArchive::read(
        memory(builder.bytes()), std::make_shared<Decoder>(),
        [&](const ZipArchive&, std::uint32_t index, Bytes head, bool is_all) {
          const std::lock_guard lock(mutex_);
          heads_[index].emplace_back(head.size(), is_all);
          last_[index] = text_view(head);
          return wanted;
        },
        [](std::uint32_t) {});
  }

  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<std::pair<std::size_t, bool>>> heads_;
  std::map<std::uint32_t, std::string> last_;
};

TEST_F(HeadTest, OffersTheFirstBytesThenAsManyAsAreWanted) {
  const auto plain = weight_bytes(100'000);
  read_heads(NpzBuilder().stored("s", plain).deflated("d", plain), 50'000);
  for (const std::uint32_t index : {0U, 1U}) {
    EXPECT_THAT(heads_[index], ElementsAre(std::pair(ZipArchive::kFirstHead, false),
                                           std::pair(std::size_t{50'000}, false)));
    EXPECT_EQ(last_[index], text_view(plain).substr(0, 50'000));
  }
}

TEST_F(HeadTest, SaysWhenThatIsAll) {
  read_heads(
      NpzBuilder().stored("s", bytes_of("short")).deflated("d", bytes_of("short")).stored("e", {}),
      50'000);
  EXPECT_THAT(heads_[0], ElementsAre(std::pair(std::size_t{5}, true)));
  EXPECT_THAT(heads_[1], ElementsAre(std::pair(std::size_t{5}, true)));
  EXPECT_THAT(heads_[2], ElementsAre(std::pair(std::size_t{0}, true)));
}

TEST_F(HeadTest, ADeflatedMemberThatEndsEarlyGivesWhatThereIs) {
  const auto stored = deflate_bytes(bytes_of("what there is"));
  read_heads(NpzBuilder().member("d", 8, stored, 1'000'000, 0), 50'000);
  EXPECT_THAT(heads_[0], ElementsAre(std::pair(std::size_t{13}, true)));
  EXPECT_EQ(last_[0], "what there is");
}

}  // namespace
}  // namespace npyfs
