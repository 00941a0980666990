// Archives in which one member is bad: it has a fault, and all others are as they should be.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/format/zip.h"
#include "npyfs/source/compose.h"

#include "support/deflate_bytes.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

// Sound members around the bad one.
NpzBuilder before() { return NpzBuilder().stored("before", bytes_of("sound")); }
NpzBuilder after(NpzBuilder builder) { return builder.deflated("after", bytes_of("as well")); }

std::string content(const ZipArchive& archive, std::uint32_t index) {
  const SourcePtr source = archive.open(index);
  const auto bytes = read_bytes(*source, 0, source->size());
  return std::string(text_view(bytes));
}

auto fails(int errno_value, const std::string& text) {
  return Throws<Error>(
      AllOf(Property(&Error::errno_value, errno_value), Property(&Error::what, HasSubstr(text))));
}

class ZipFaultsTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kBad = 1;  // its number in what `read` gets

  // Reads the archive of before, bad and after, and checks the sound ones.
  void read(NpzBuilder builder) {
    const auto no_head = [](const ZipArchive&, std::uint32_t, Bytes, bool) {
      return std::size_t{0};
    };
    archive_ = ZipArchive::read(memory(after(builder).bytes()), std::make_shared<Decoder>(),
                                no_head, [](std::uint32_t) {});
    const std::uint32_t last = archive_->count() - 1;
    EXPECT_EQ(archive_->fault(0), nullptr);
    EXPECT_EQ(archive_->fault(last), nullptr);
    EXPECT_EQ(content(*archive_, 0), "sound");
    EXPECT_EQ(content(*archive_, last), "as well");
  }

  void expect_unreadable(std::uint32_t index, int errno_value, const std::string& text) {
    ASSERT_NE(archive_->fault(index), nullptr);
    EXPECT_TRUE(archive_->fault(index)->unreadable);
    EXPECT_EQ(archive_->fault(index)->error.errno_value(), errno_value);
    EXPECT_THAT(
        archive_->fault(index)->error.what(),
        AllOf(HasSubstr(text), HasSubstr(errno_value == EIO ? "; fetch or write it again" : "; ")));
    EXPECT_THAT([&] { archive_->open(index); }, fails(errno_value, text));
  }

  void expect_readable_fault(const std::string& text) {
    ASSERT_NE(archive_->fault(kBad), nullptr);
    EXPECT_FALSE(archive_->fault(kBad)->unreadable);
    EXPECT_THAT(archive_->fault(kBad)->error.what(),
                AllOf(HasSubstr(text), HasSubstr("; fetch or write it again")));
  }

  std::unique_ptr<const ZipArchive> archive_;
};

TEST_F(ZipFaultsTest, AnEncryptedMemberIsEacces) {
  read(before().stored("bad", bytes_of("secret")).with_flags(1));
  expect_unreadable(kBad, EACCES, "encrypted");
  EXPECT_EQ(archive_->size(kBad), 6U);
}

TEST_F(ZipFaultsTest, SoIsOneOfStrongEncryption) {
  for (const std::uint16_t flags : {std::uint16_t{0x40}, std::uint16_t{0x2000}}) {
    read(before().stored("bad", bytes_of("secret")).with_flags(flags));
    expect_unreadable(kBad, EACCES, "encrypted");
  }
}

TEST_F(ZipFaultsTest, APatchIsNoContent) {
  read(before().stored("bad", bytes_of("patch")).with_flags(0x20));
  expect_unreadable(kBad, EOPNOTSUPP, "a patch of another file");
}

TEST_F(ZipFaultsTest, AMethodThatNobodyKnowsIsEopnotsuppByName) {
  read(before().stored("bad", bytes_of("wavpack?")).with_method(97));
  expect_unreadable(kBad, EOPNOTSUPP, "compressed with method 97");
}

TEST_F(ZipFaultsTest, ALocalHeaderWithAnotherNameIsAnothers) {
  read(before().stored("bad", bytes_of("x")).with_local_name("other"));
  expect_unreadable(kBad, EIO, "belongs to another member, 'other'");
}

TEST_F(ZipFaultsTest, ALocalHeaderMustBeThere) {
  read(before().stored("bad", bytes_of("x")).with_offset_error(1));
  expect_unreadable(kBad, EIO, "local header");
  read(before().stored("bad", bytes_of("x")).with_offset_error(1'000'000));
  expect_unreadable(kBad, EIO, "puts its local header past the archive's end at");
}

TEST_F(ZipFaultsTest, DataMustEndBeforeTheArchiveDoes) {
  read(before().stored("bad", bytes_of("x")).with_size(100'000).with_stored_size(100'000));
  expect_unreadable(kBad, EIO, "100000 stored bytes at");
  read(before()
           .stored("bad", bytes_of("x"))
           .with_size(std::uint64_t{1} << 62)
           .with_stored_size(std::uint64_t{1} << 62));
  expect_unreadable(kBad, EIO, "");
}

TEST_F(ZipFaultsTest, AStoredMemberIsAsLongAsWhatIsStored) {
  read(before().stored("bad", bytes_of("0123456789")).with_size(4'000'000'000));
  expect_readable_fault("10 bytes lie there and 4000000000 are meant");
  EXPECT_EQ(archive_->size(kBad), 10U);
  EXPECT_EQ(content(*archive_, kBad), "0123456789");
  read(before().stored("bad", bytes_of("0123456789")).with_size(4));
  expect_readable_fault("10 bytes lie there and 4 are meant");
  EXPECT_EQ(content(*archive_, kBad), "0123456789");
}

TEST_F(ZipFaultsTest, AStoredMemberThatHasNothingStored) {
  read(before().stored("bad", {}).with_size(100));
  expect_readable_fault("0 bytes lie there and 100 are meant");
  EXPECT_EQ(content(*archive_, kBad), "");
}

TEST_F(ZipFaultsTest, ADeflatedMemberThatEndsEarlyIsReadableUpToThere) {
  read(before().member("bad", 8, deflate_bytes(bytes_of("short")), 100, 0));
  expect_readable_fault("its data ends after 5 of the 100 bytes declared");
  const SourcePtr source = archive_->open(kBad);
  EXPECT_EQ(source->size(), 100U);
  EXPECT_EQ(text_view(read_bytes(*source, 0, 5)), "short");
  EXPECT_THAT([&] { read_bytes(*source, 0, 6); }, fails(EIO, ""));
}

TEST_F(ZipFaultsTest, ADeflatedMemberOfNoBytesThatDeclaresSome) {
  read(before().member("bad", 8, {}, 100, 0));
  expect_unreadable(kBad, EIO, "its data ends after 0 of the 100 bytes declared");
  EXPECT_EQ(archive_->size(kBad), 100U);
}

TEST_F(ZipFaultsTest, DamagedDeflateDataIsEio) {
  read(before().member("bad", 8, bytes_of("\xff\xff\xff\xff\xff\xff"), 100, 0));
  expect_unreadable(kBad, EIO, "damaged after 0 decoded bytes");
}

TEST_F(ZipFaultsTest, AWrongCrcIsNoFaultBeforeTheMemberIsRead) {
  read(before().deflated("bad", bytes_of("content")).with_wrong_crc());
  EXPECT_EQ(archive_->fault(kBad), nullptr);
  EXPECT_THAT([&] { content(*archive_, kBad); }, fails(EIO, "CRC"));
}

TEST_F(ZipFaultsTest, OfOverlappingMembersNoneIsServed) {
  // "outer" and what looks like a local header inside it.
  const auto inner = NpzBuilder().stored("inner", bytes_of("payload")).bytes();
  const Bytes local = Bytes(inner).first(30 + 5 + 7);
  const auto inner_at = [&](std::int64_t offset_in_outer) {
    return before()
        .stored("outer", bytes_of(std::string(50, '.') + std::string(text_view(local)) +
                                  std::string(50, '.')))
        .member("inner", 0, bytes_of("payload"), 7, crc32_of(bytes_of("payload")))
        .with_offset_error(offset_in_outer);
  };
  // From where the builder puts "inner" back to its copy in "outer".
  read(inner_at(-static_cast<std::int64_t>(local.size() + 50)));
  expect_unreadable(1, EIO, "overlaps that of 'inner'");
  expect_unreadable(2, EIO, "overlaps that of 'outer'");
}

TEST_F(ZipFaultsTest, EveryMemberInsideAnotherIsFound) {
  const auto local = [](std::string_view name) {
    const auto bytes = NpzBuilder().stored(name, bytes_of("payload")).bytes();
    return std::string(text_view(bytes).substr(0, 30 + name.size() + 7));
  };
  const std::string inside = local("in1") + local("in2");
  const auto whole = static_cast<std::int64_t>(inside.size());
  const auto each = whole / 2;
  read(before()
           .stored("outer", bytes_of(inside))
           .stored("in1", bytes_of("payload"))
           .with_offset_error(-whole)
           .stored("in2", bytes_of("payload"))
           .with_offset_error(-whole - each + each));
  expect_unreadable(1, EIO, "overlaps");
  expect_unreadable(2, EIO, "overlaps that of 'outer'");
}

TEST_F(ZipFaultsTest, TwoRecordsOfOneMemberAreHarmless) {
  const std::string member = "sound";
  const auto size = static_cast<std::int64_t>(30 + 4 + member.size());
  read(before()
           .stored("same", bytes_of(member))
           .stored("same", bytes_of(member))
           .with_offset_error(-size));
  EXPECT_EQ(archive_->fault(1), nullptr);
  EXPECT_EQ(archive_->fault(2), nullptr);
  EXPECT_EQ(content(*archive_, 2), "sound");
}

TEST_F(ZipFaultsTest, TwoNamesForOneMemberAreOneTooMany) {
  const auto size = static_cast<std::int64_t>(30 + 4 + 5);
  read(before()
           .stored("same", bytes_of("sound"))
           .stored("evil", bytes_of("sound"))
           .with_offset_error(-size));
  EXPECT_EQ(archive_->fault(1), nullptr);
  expect_unreadable(2, EIO, "belongs to another member, 'same'");
}

TEST_F(ZipFaultsTest, AZip64FieldThatIsCutHarmsNobodyElse) {
  std::string field("\1\0\x0a\0", 4);
  field.append(10, '\0');
  read(before().stored("bad", bytes_of("x")).with_central_extra(bytes_of(field)));
  EXPECT_EQ(content(*archive_, kBad), "x");
}

}  // namespace
}  // namespace npyfs
