// Archives whose directory libzip refuses as a whole.
#include "format/zip_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/format/zip.h"
#include "npyfs/source/compose.h"

#include "support/npz_builder.h"

namespace npyfs {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::unique_ptr<const ZipArchive> read(const std::string& bytes) {
  const auto no_head = [](const ZipArchive&, std::uint32_t, Bytes, bool) { return std::size_t{0}; };
  return ZipArchive::read(memory(bytes), std::make_shared<Decoder>(), no_head,
                          [](std::uint32_t) {});
}

std::string text(const NpzBuilder& builder) {
  const auto bytes = builder.bytes();
  return std::string(text_view(bytes));
}

std::string content(const ZipArchive& archive, std::uint32_t index) {
  const SourcePtr source = archive.open(index);
  const auto bytes = read_bytes(*source, 0, source->size());
  return std::string(text_view(bytes));
}

// `bytes` with `value` put `at` bytes behind the last `signature`.
std::string patched(std::string bytes, std::string_view signature, std::size_t at,
                    std::string_view value) {
  bytes.replace(bytes.rfind(signature) + at, value.size(), value);
  return bytes;
}

constexpr std::string_view kRecord = "PK\1\2";
constexpr std::string_view kEnd = "PK\5\6";

NpzBuilder pair() {
  return NpzBuilder().stored("a", bytes_of("first")).deflated("b", bytes_of("second"));
}

testing::AssertionResult is_pair(const ZipArchive& archive) {
  const bool right = archive.count() == 2 && archive.fault(0) == nullptr &&
                     archive.fault(1) == nullptr && content(archive, 0) == "first" &&
                     content(archive, 1) == "second";
  return right ? testing::AssertionSuccess()
               : testing::AssertionFailure() << archive.count() << " members";
}

TEST(ZipDirectoryTest, ANameThatIsNotTheUtf8ItClaimsToBe) {
  const auto archive = read(text(pair().stored("caf\x82", bytes_of("third")).with_flags(0x800)));
  EXPECT_EQ(archive->count(), 3U);
  EXPECT_EQ(archive->name(2), "café");
  EXPECT_EQ(content(*archive, 0) + content(*archive, 1) + content(*archive, 2), "firstsecondthird");
}

TEST(ZipDirectoryTest, ExtraFieldsThatAreCut) {
  EXPECT_TRUE(is_pair(*read(text(pair().with_central_extra(bytes_of("\1\0\x20\0abc"sv))))));
  EXPECT_TRUE(is_pair(*read(text(pair().with_central_extra(bytes_of("xyz"))))));
}

TEST(ZipDirectoryTest, AZip64FieldWithMoreThanIsWanted) {
  std::string field("\1\0\x18\0"sv);
  field.append(24, '\0');  // the offset is 0
  const std::string bytes =
      text(NpzBuilder().stored("a", bytes_of("first")).with_central_extra(bytes_of(field)));
  const auto archive = read(patched(bytes, kRecord, 42, "\xff\xff\xff\xff"));
  ASSERT_EQ(archive->fault(0), nullptr);
  EXPECT_EQ(content(*archive, 0), "first");
}

TEST(ZipDirectoryTest, AMissingZip64FieldIsThatMembersFault) {
  const auto archive = read(patched(text(pair()), kRecord, 42, "\xff\xff\xff\xff"));
  ASSERT_EQ(archive->count(), 2U);
  EXPECT_EQ(content(*archive, 0), "first");
  ASSERT_NE(archive->fault(1), nullptr);
  EXPECT_TRUE(archive->fault(1)->unreadable);
}

TEST(ZipDirectoryTest, AWrongCount) {
  EXPECT_TRUE(is_pair(*read(patched(text(pair()), kEnd, 8, "\1\0\1\0"sv))));
  EXPECT_TRUE(is_pair(*read(patched(text(pair()), kEnd, 8, "\5\0\5\0"sv))));
}

TEST(ZipDirectoryTest, ACountThatWouldTakeAllMemory) {
  const std::string bytes =
      patched(text(pair().zip64_end()), "PK\6\6", 24, "\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0"sv);
  EXPECT_TRUE(is_pair(*read(bytes)));
}

TEST(ZipDirectoryTest, WinZipEncryptionWithoutItsFieldIsThatMembersFault) {
  const auto archive =
      read(text(pair().stored("c", bytes_of("secret")).with_method(99).with_flags(1)));
  ASSERT_NE(archive->fault(2), nullptr);
  EXPECT_EQ(archive->fault(2)->error.errno_value(), EACCES);
  EXPECT_EQ(content(*archive, 0), "first");
}

TEST(ZipDirectoryTest, KeepsWhatIsBehindAPrefix) {
  const auto bytes = text(
      pair().stored("\xff", bytes_of("third")).with_flags(0x800).prefix(bytes_of("#!/bin/sh\n")));
  EXPECT_EQ(content(*read(bytes), 2), "third");
}

TEST(ZipDirectoryTest, WhatIsNoRecordIsNotInvented) {
  std::string bytes = text(pair());
  bytes = patched(bytes, kRecord, 0, "QQ");
  EXPECT_THAT([&] { read(bytes); }, ThrowsMessage<Error>(HasSubstr("can't be read")));
}

TEST(ZipDirectoryTest, HasTheSameRecords) {
  const auto bytes = pair().bytes();
  const SourcePtr source = memory(bytes);
  const SourcePtr own = with_own_directory(source, *find_zip(*source));
  const auto again = read_bytes(*own, 0, own->size());
  EXPECT_TRUE(is_pair(*read(std::string(text_view(again)))));
}

}  // namespace
}  // namespace npyfs
