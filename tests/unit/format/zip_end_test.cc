#include "format/zip_end.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

#include "support/counting_source.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

constexpr std::string_view kEmptyEnd = "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv;

NpzBuilder two_members() {
  return NpzBuilder().stored("a", bytes_of("first")).stored("b", bytes_of("second"));
}

std::vector<std::byte> joined(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  std::vector<std::byte> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

testing::AssertionResult is_range(const std::vector<std::byte>& bytes, std::uint64_t begin,
                                  std::uint64_t end) {
  const auto range = find_zip(*memory(bytes));
  if (!range) {
    return testing::AssertionFailure() << "no archive found";
  }
  if (range->begin != begin || range->end != end) {
    return testing::AssertionFailure() << "[" << range->begin << ", " << range->end << ")";
  }
  return testing::AssertionSuccess();
}

std::string cut_text(const std::vector<std::byte>& bytes, std::size_t length) {
  return describe_cut_zip(*memory(
      std::vector<std::byte>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))));
}

TEST(FindZipTest, FindsAPlainArchiveInOneSmallRead) {
  const auto bytes = two_members().bytes();
  EXPECT_TRUE(is_range(bytes, 0, bytes.size()));
  const CountingSource source(memory(bytes));
  find_zip(source);
  EXPECT_LE(source.reads().size(), 4U);
}

TEST(FindZipTest, TellsWhetherAnotherEndCouldBeTakenForItsOwn) {
  const auto only_end = [](const NpzBuilder& builder) {
    return find_zip(*memory(builder.bytes()))->only_end;
  };
  EXPECT_TRUE(only_end(two_members()));
  EXPECT_TRUE(only_end(two_members().prefix(two_members().bytes())));
  EXPECT_FALSE(only_end(two_members().counted_prefix(two_members().bytes())));
  EXPECT_FALSE(only_end(two_members().stored("inner.npz", two_members().bytes())));
  EXPECT_FALSE(only_end(two_members().comment("PK\5\6 is how an end begins")));
  EXPECT_TRUE(only_end(
      two_members().counted_prefix(two_members().bytes()).stored("c", counting_bytes(100'000))));
}

TEST(FindZipTest, NeitherNothingNorTextIsAnArchive) {
  EXPECT_EQ(find_zip(*memory(std::string())), std::nullopt);
  EXPECT_EQ(find_zip(*memory(std::string("PK"))), std::nullopt);
  EXPECT_EQ(find_zip(*memory(std::string(100'000, 'x'))), std::nullopt);
  EXPECT_EQ(find_zip(*memory(std::string(1'000'000, '\0'))), std::nullopt);
  EXPECT_EQ(find_zip(*memory(std::string(kEmptyEnd.substr(0, 21)))), std::nullopt);
}

TEST(FindZipTest, TheEmptyArchiveIsOne) {
  EXPECT_TRUE(is_range(NpzBuilder().bytes(), 0, 22));
  // A zip64 end as writers leave it that always write one: the plain record says "see there".
  auto bytes = NpzBuilder().zip64_end().bytes();
  std::fill(bytes.end() - 14, bytes.end() - 2, std::byte{0xff});
  EXPECT_TRUE(is_range(bytes, 0, 56 + 20 + 22));
}

TEST(FindZipTest, APrefixThatOffsetsDoNotCountIsCutOff) {
  const auto bytes = two_members().prefix(bytes_of("#!/bin/sh\n")).bytes();
  EXPECT_TRUE(is_range(bytes, 10, bytes.size()));
}

TEST(FindZipTest, APrefixThatOffsetsCountBelongsToTheArchive) {
  const auto bytes = two_members().counted_prefix(bytes_of("#!/bin/sh\n")).bytes();
  EXPECT_TRUE(is_range(bytes, 0, bytes.size()));
}

TEST(FindZipTest, APrefixIsFoundWithZip64RecordsToo) {
  const auto bytes = two_members().prefix(bytes_of("#!/bin/sh\n")).zip64_end().bytes();
  EXPECT_TRUE(is_range(bytes, 10, bytes.size()));
}

TEST(FindZipTest, AZip64RecordMayBeLongerThanUsual) {
  const auto bytes = two_members().zip64_end(100).bytes();
  EXPECT_TRUE(is_range(bytes, 0, bytes.size()));
}

TEST(FindZipTest, OfTwoArchivesOneAfterAnotherTheLastCounts) {
  const auto first = two_members().bytes();
  const auto second = two_members().stored("c", bytes_of("third")).comment("the second").bytes();
  EXPECT_TRUE(is_range(joined(first, second), first.size(), first.size() + second.size()));
  const auto empty = NpzBuilder().bytes();
  EXPECT_TRUE(is_range(joined(first, empty), first.size(), first.size() + 22));
}

TEST(FindZipTest, ACommentIsText) {
  for (const std::string& comment :
       {std::string("PK\5\6 is how an end begins"), std::string(65'535, 'c')}) {
    const auto bytes = two_members().comment(comment).bytes();
    EXPECT_TRUE(is_range(bytes, 0, bytes.size())) << comment.size();
    const auto padded =
        two_members().comment(comment).trailing(bytes_of(std::string(100, '\0'))).bytes();
    EXPECT_TRUE(is_range(padded, 0, bytes.size())) << comment.size() << ", padded";
  }
}

// Python's zipfile takes the last end record there is, and np.load with it.
TEST(FindZipTest, AnArchiveInACommentCountsAsForZipfile) {
  const auto inner = two_members().bytes();
  const auto bytes = two_members().comment(text_view(inner)).bytes();
  EXPECT_TRUE(is_range(bytes, bytes.size() - inner.size(), bytes.size()));
}

TEST(FindZipTest, JunkAndZerosBehindTheEndAreCutOff) {
  const auto bytes = two_members().bytes();
  for (const std::string& tail :
       {std::string("0123456789"), std::string(30, '\0'), std::string(1'000'000, '\0')}) {
    EXPECT_TRUE(is_range(two_members().trailing(bytes_of(tail)).bytes(), 0, bytes.size()))
        << tail.size();
  }
}

TEST(FindZipTest, AnEndRecordWithoutItsDirectoryIsNone) {
  auto bytes = two_members().bytes();
  const std::string_view text = text_view(bytes);
  bytes[text.find("PK\1\2")] = std::byte{'Q'};
  EXPECT_EQ(find_zip(*memory(bytes)), std::nullopt);
  std::string huge(kEmptyEnd);
  huge[8] = huge[10] = 1;
  huge.replace(12, 4, "\xff\xff\xff\x7f");
  EXPECT_EQ(find_zip(*memory(huge)), std::nullopt);
}

TEST(DescribeCutZipTest, SaysHowFarTheMembersGo) {
  const auto bytes = two_members().bytes();
  const std::size_t second = text_view(bytes).find("PK\3\4", 4);
  const std::size_t directory = text_view(bytes).find("PK\1\2");
  EXPECT_EQ(
      cut_text(bytes, directory + 10),
      text_of(
          "the zip archive has no central directory at its end, so it was cut short; 2 complete "
          "members end at byte ",
          directory, " of ", directory + 10, "; fetch or write it again"));
  EXPECT_THAT(cut_text(bytes, directory - 1),
              HasSubstr(text_of("1 complete member ends at byte ", second, " of")));
  EXPECT_THAT(cut_text(bytes, 20), HasSubstr("0 complete members end at byte 0 of 20"));
}

TEST(DescribeCutZipTest, KnowsZip64Sizes) {
  const auto bytes = NpzBuilder()
                         .stored("a", bytes_of("first"))
                         .with_zip64_local_header()
                         .stored("b", bytes_of("second"))
                         .with_zip64_local_header()
                         .with_padding(7)
                         .bytes();
  EXPECT_THAT(cut_text(bytes, bytes.size() - 22), HasSubstr("2 complete members"));
}

TEST(DescribeCutZipTest, DoesNotCountMembersWhoseSizeComesBehindThem) {
  const auto bytes = NpzBuilder()
                         .stored("a", bytes_of("first"))
                         .stored("b", bytes_of("second"))
                         .with_data_descriptor()
                         .bytes();
  EXPECT_THAT(cut_text(bytes, bytes.size() - 22), HasSubstr("1 complete member ends"));
}

TEST(DescribeCutZipTest, IsNotLedAstrayByLyingSizes) {
  const auto bytes =
      NpzBuilder().stored("a", bytes_of("first")).with_stored_size(0xFFFFFFF0).bytes();
  EXPECT_THAT(cut_text(bytes, 40), HasSubstr("0 complete members end at byte 0 of 40"));
}

}  // namespace
}  // namespace npyfs
