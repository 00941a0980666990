#include "npyfs/format/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/deflate_bytes.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::vector<std::byte> floats(std::uint64_t count) {
  return npy_image("'<f4'", {count}, counting_bytes(4 * count));
}

class NpzTest : public testing::Test {
 protected:
  void read(const NpzBuilder& builder) {
    npz_ = Npz::read(File::open(dir_.write("x.npz", builder.bytes())), "x.npz",
                     std::make_shared<Decoder>());
  }
  std::string text(std::uint32_t index) {
    const SourcePtr source = npz_->open(index);
    const auto bytes = read_bytes(*source, 0, source->size());
    return std::string(text_view(bytes));
  }
  // The one remark, as text.
  std::string remark() {
    EXPECT_THAT(npz_->remarks(), SizeIs(1));
    return npz_->remarks().empty() ? "" : npz_->remarks().front().error.what();
  }

  TempDir dir_;
  std::unique_ptr<const Npz> npz_;
};

TEST_F(NpzTest, AKeyIsTheNameLessOneSuffix) {
  read(NpzBuilder()
           .stored("a.npy", floats(1))
           .stored("b.npy.npy", floats(1))
           .stored("c", floats(1)));
  EXPECT_EQ(npz_->key(0), "a");
  EXPECT_EQ(npz_->key(1), "b.npy");
  EXPECT_EQ(npz_->key(2), "c");
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_NE(npz_->info(i), nullptr);
    EXPECT_TRUE(npz_->info(i)->has_views());
  }
}

TEST_F(NpzTest, MembersWithOneHeaderShareWhatIsKnown) {
  NpzBuilder builder;
  for (int i = 0; i < 3000; ++i) {
    builder.stored(std::to_string(i) + ".npy", floats(3));
  }
  read(builder.stored("other.npy", floats(4)));
  for (std::uint32_t i = 1; i < 3000; ++i) {
    ASSERT_EQ(npz_->info(i), npz_->info(0));
  }
  EXPECT_NE(npz_->info(3000), npz_->info(0));
}

TEST_F(NpzTest, HeadersLongerThanTheFirstReadAreRead) {
  std::string fields = "[";
  for (int i = 0; i < 3000; ++i) {
    fields += "('field_" + std::to_string(i) + "', '<f8'), ";
  }
  fields += "]";
  const auto image = npy_image(fields, {2}, counting_bytes(48'000));
  ASSERT_GT(image.size(), 100'000U);
  read(NpzBuilder().stored("s.npy", image).deflated("d.npy", image));
  for (const std::uint32_t index : {0U, 1U}) {
    ASSERT_TRUE(npz_->info(index)->known);
    EXPECT_EQ(npz_->info(index)->dtype.fields->size(), 3000U);
    EXPECT_EQ(text(index), text_view(image));
  }
}

TEST_F(NpzTest, OtherMembersAreNoArrays) {
  read(NpzBuilder().stored("readme.txt", bytes_of("hello")).stored("dir/", {}).stored("e", {}));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(npz_->info(i), nullptr);
  }
  EXPECT_THAT(npz_->remarks(), IsEmpty());
  EXPECT_FALSE(npz_->has_arrays());
}

TEST_F(NpzTest, AMemberThatIsCalledAnImageAndIsNoneIsNoArrayAndRemarked) {
  read(NpzBuilder().stored("a.npy",
                           bytes_of("version https://git-lfs.github.com/spec/v1\nsize 77\n")));
  EXPECT_EQ(npz_->info(0), nullptr);
  EXPECT_THAT(remark(), HasSubstr("no .npy image but a git LFS pointer"));
  read(NpzBuilder().stored("a.npy", {}));
  EXPECT_EQ(npz_->info(0), nullptr);
  EXPECT_THAT(remark(), HasSubstr("an empty file"));
}

TEST_F(NpzTest, AMemberThatCannotBeReadIsAnArrayIfItsNameSaysSo) {
  read(NpzBuilder()
           .stored("a.npy", floats(3))
           .with_flags(1)
           .stored("b.txt", bytes_of("x"))
           .with_flags(1));
  ASSERT_NE(npz_->info(0), nullptr);
  EXPECT_FALSE(npz_->info(0)->known);
  EXPECT_TRUE(npz_->info(0)->damaged);
  EXPECT_EQ(npz_->info(0)->error->errno_value(), EACCES);
  EXPECT_EQ(npz_->info(1), nullptr);
  EXPECT_THAT(remark(), HasSubstr("encrypted"));
}

TEST_F(NpzTest, ADeflatedImageCutInItsHeaderIsADamagedArray) {
  const auto image = floats(1000);
  const auto head = deflate_bytes(Bytes(image).first(60));
  read(
      NpzBuilder().member("a.npy", 8, head, image.size(), 0).member("b", 8, head, image.size(), 0));
  for (const std::uint32_t index : {0U, 1U}) {
    ASSERT_NE(npz_->info(index), nullptr);
    EXPECT_TRUE(npz_->info(index)->damaged);
    EXPECT_TRUE(npz_->info(index)->error);
  }
}

TEST_F(NpzTest, ALongHeaderCutBehindTheFirstReadIsDamagedToo) {
  std::string fields = "[";
  for (int i = 0; i < 100; ++i) {
    fields += "('field_" + std::to_string(i) + "', '<f8'), ";
  }
  const auto image = npy_image(fields + "]", {2}, counting_bytes(1600));
  read(NpzBuilder().member("a.npy", 8, deflate_bytes(Bytes(image).first(300)), image.size(), 0));
  ASSERT_NE(npz_->info(0), nullptr);
  EXPECT_TRUE(npz_->info(0)->damaged);
}

TEST_F(NpzTest, AHeaderThatRunsPastTheMemberIsDamage) {
  const auto image = floats(10);
  const Bytes cut = Bytes(image).first(100);
  read(NpzBuilder().stored("s.npy", cut).deflated("d.npy", cut));
  for (const std::uint32_t index : {0U, 1U}) {
    EXPECT_THAT(npz_->info(index)->error->what(),
                HasSubstr("the header of 128 bytes runs past the member's 100"));
  }
}

TEST_F(NpzTest, AHeaderThatLiesAboutItsLengthIsRefusedWithoutReadingIt) {
  std::string image("\x93NUMPY\2\0\xf0\xff\xff\xff", 12);
  image += std::string(200, ' ');
  read(NpzBuilder().stored("a.npy", bytes_of(image)));
  EXPECT_TRUE(npz_->info(0)->damaged);
  EXPECT_THAT(npz_->info(0)->error->what(), HasSubstr("4294967280"));
}

TEST_F(NpzTest, AStoredSizeThatDisagreesIsDamage) {
  read(NpzBuilder()
           .stored("a.npy", floats(10))
           .with_size(1000)
           .stored("b.txt", bytes_of("abc"))
           .with_size(9));
  EXPECT_TRUE(npz_->info(0)->known);
  EXPECT_TRUE(npz_->info(0)->damaged);
  EXPECT_FALSE(npz_->info(0)->has_views());
  EXPECT_EQ(npz_->size(0), floats(10).size());
  EXPECT_THAT(remark(), HasSubstr("3 bytes lie there and 9 are meant"));
}

TEST_F(NpzTest, WhatASupersededMemberHasWrongDoesNotMatter) {
  read(NpzBuilder()
           .stored("a.txt", bytes_of("x"))
           .with_flags(1)
           .stored("b.npy", bytes_of("no image"))
           .stored("a.txt", bytes_of("y"))
           .stored("b.npy", floats(1)));
  EXPECT_THAT(npz_->remarks(), IsEmpty());
}

TEST_F(NpzTest, ASidecarInTheArchiveMakesAnArrayOfBytes) {
  read(NpzBuilder()
           .stored("a.npy", counting_bytes(6))
           .stored("a_meta.json", bytes_of(R"({"shape": [2, 3], "dtype": "float8_e5m2"})"))
           .stored("b.bin", counting_bytes(4))
           .stored("b.meta.json", bytes_of(R"({"shape": [2], "dtype": "float16"})"))
           .stored("c", counting_bytes(4))
           .deflated("c_meta.json", bytes_of(R"({"shape": [4], "dtype": "int8"})")));
  EXPECT_EQ(npz_->info(0)->shape, Shape({2, 3}));
  EXPECT_FALSE(npz_->info(0)->header.empty());
  EXPECT_EQ(dtype_name(npz_->info(2)->dtype), "float16");
  EXPECT_EQ(dtype_name(npz_->info(4)->dtype), "int8");
  EXPECT_THAT(npz_->remarks(), IsEmpty());
  EXPECT_EQ(npz_->origin(0).offset, std::nullopt) << "NAME.npy is not what lies there";
}

TEST_F(NpzTest, ASidecarInTheArchiveTellsAnImagesType) {
  read(NpzBuilder()
           .stored("a.npy", npy_image("'<V1'", {3}, counting_bytes(3)))
           .stored("a_meta.json", bytes_of(R"({"shape": [3], "dtype": "float8_e4m3fn"})"))
           .stored("a.meta.json", bytes_of(R"({"shape": [3], "dtype": "float8_e5m2"})")));
  EXPECT_EQ(dtype_name(npz_->info(0)->dtype), "float8_e4m3fn")
      << "the one with the underscore wins";
}

TEST_F(NpzTest, ASidecarInTheArchiveMayTellTheTypeAlone) {
  read(NpzBuilder()
           .stored("a.npy", npy_image("'<V1'", {3}, counting_bytes(3)))
           .stored("a_meta.json", bytes_of(R"({"dtype": "float8_e4m3fn"})"))
           .deflated("b", npy_image("'<V1'", {3}, counting_bytes(3)))
           .deflated("b.meta.json", bytes_of(R"({"dtype": "float8_e5m2"})")));
  EXPECT_EQ(dtype_name(npz_->info(0)->dtype), "float8_e4m3fn");
  EXPECT_EQ(npz_->info(0)->dtype_from, DtypeFrom::kSidecar);
  EXPECT_EQ(dtype_name(npz_->info(2)->dtype), "float8_e5m2");
  EXPECT_THAT(npz_->remarks(), IsEmpty());
}

TEST_F(NpzTest, OfTwoSidecarsOnlyTheOneWithTheUnderscoreIsHeard) {
  read(NpzBuilder()
           .stored("a.npy", npy_image("'<V1'", {3}, counting_bytes(3)))
           .stored("a.meta.json", bytes_of(R"({"dtype": "float64"})"))
           .stored("a_meta.json", bytes_of(R"({"dtype": "float8_e4m3fn"})"))
           .stored("b.bin", counting_bytes(3))
           .stored("b.meta.json", bytes_of(R"({"dtype": "float64"})"))
           .stored("b_meta.json", bytes_of(R"({"shape": [3], "dtype": "int8"})"))
           .stored("c.bin", counting_bytes(3))
           .stored("c.meta.json", bytes_of(R"({"shape": [3], "dtype": "int8"})"))
           .stored("c_meta.json", bytes_of(R"({"epoch": 3})")));
  EXPECT_EQ(dtype_name(npz_->info(0)->dtype), "float8_e4m3fn");
  EXPECT_FALSE(npz_->info(0)->error);
  EXPECT_EQ(dtype_name(npz_->info(3)->dtype), "int8");
  EXPECT_EQ(dtype_name(npz_->info(6)->dtype), "int8") << "the other is no sidecar";
  EXPECT_THAT(npz_->remarks(), IsEmpty());
}

TEST_F(NpzTest, BytesWhoseSidecarLacksAShapeHaveOneRemark) {
  read(NpzBuilder()
           .stored("a.npy", counting_bytes(5))
           .stored("a_meta.json", bytes_of(R"({"dtype": "float8_e5m2"})")));
  EXPECT_EQ(npz_->info(0), nullptr);
  EXPECT_THAT(remark(), StartsWith("the sidecar: no shape for 5 bytes"));
  EXPECT_EQ(npz_->remarks().front().index, 0U);
}

TEST_F(NpzTest, ASidecarThatDoesNotFitIsRemarkedAndChangesNothing) {
  read(NpzBuilder()
           .stored("a.bin", counting_bytes(5))
           .stored("a_meta.json", bytes_of(R"({"shape": [2, 3], "dtype": "float8_e5m2"})"))
           .stored("b_meta.json", bytes_of("no JSON")));
  EXPECT_EQ(npz_->info(0), nullptr);
  EXPECT_THAT(remark(), HasSubstr("needs 6 bytes, 5 are there"));
}

TEST_F(NpzTest, ItsOriginIsWhatTheManifestShows) {
  const auto image = floats(100);
  read(NpzBuilder().stored("s.npy", image).deflated("d.npy", image));
  const Origin stored = npz_->origin(0);
  EXPECT_EQ(stored.file, "x.npz");
  EXPECT_EQ(stored.format, "npz");
  EXPECT_EQ(stored.member, "s.npy");
  EXPECT_EQ(stored.compression, "stored");
  EXPECT_EQ(stored.stored_bytes, image.size());
  EXPECT_EQ(stored.crc32, crc32_of(image));
  const std::string bytes = read_file(dir_.path("x.npz"));
  EXPECT_EQ(bytes.substr(*stored.offset, image.size()), text_view(image));
  EXPECT_EQ(npz_->origin(1).compression, "deflate");
  EXPECT_EQ(npz_->origin(1).offset, std::nullopt);
}

TEST_F(NpzTest, AnErrorNamesTheFileAndTheMember) {
  read(NpzBuilder().stored("a.npy", floats(1)).with_flags(1));
  EXPECT_THAT([&] { npz_->open(0); },
              testing::ThrowsMessage<Error>(HasSubstr("x.npz: a.npy: the member is encrypted")));
}

TEST_F(NpzTest, IsStaleOnceItsFileWasChanged) {
  read(NpzBuilder().stored("a.npy", floats(1)));
  EXPECT_NO_THROW(npz_->check(0));
  dir_.write("x.npz", bytes_of("something else"));
  EXPECT_THAT([&] { npz_->check(0); },
              testing::Throws<Error>(testing::Property(&Error::errno_value, ESTALE)));
}

}  // namespace
}  // namespace npyfs
