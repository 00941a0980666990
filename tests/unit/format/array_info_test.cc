#include "npyfs/format/array_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/npz_builder.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

ArrayInfo image_info(const std::vector<std::byte>& image) {
  return describe_image(image, image.size());
}

Sidecar sidecar(std::string_view json) { return *parse_sidecar(bytes_of(json)); }

ArrayInfo told(std::string_view json, std::string_view data) {
  return describe_data(sidecar(json), bytes_of(data), data.size());
}

TEST(ArrayInfoTest, TellsWhatAnImageIs) {
  const ArrayInfo info = image_info(npy_image("'<f4'", {2, 3}, counting_bytes(24), true));
  EXPECT_TRUE(info.known);
  EXPECT_TRUE(info.has_views());
  EXPECT_EQ(info.shape, Shape({2, 3}));
  EXPECT_TRUE(info.fortran_order);
  EXPECT_EQ(info.count, 6U);
  EXPECT_EQ(info.nbytes, 24U);
  EXPECT_EQ(info.data_offset, 128U);
  EXPECT_EQ(info.stored_data_offset(), 128U);
  EXPECT_EQ(info.dtype_from, DtypeFrom::kHeader);
  EXPECT_TRUE(info.header.empty());
  EXPECT_FALSE(info.error);
  EXPECT_THAT(info.notes, IsEmpty());
}

TEST(ArrayInfoTest, DataThatIsCutIsDamageWithNumbers) {
  const ArrayInfo info = image_info(npy_image("'<f4'", {2, 3}, counting_bytes(18)));
  EXPECT_TRUE(info.known);
  EXPECT_TRUE(info.damaged);
  EXPECT_FALSE(info.has_views());
  EXPECT_STREQ(info.error->what(),
               "the data is cut short: shape (2, 3) of float32 needs 24 bytes, 18 are there; fetch "
               "or write it again");
  EXPECT_THAT(info.notes, ElementsAre("truncated"));
}

TEST(ArrayInfoTest, MoreDataThanDeclaredIsANote) {
  const ArrayInfo info = image_info(npy_image("'<f4'", {2}, counting_bytes(15)));
  EXPECT_TRUE(info.has_views());
  EXPECT_FALSE(info.error);
  EXPECT_EQ(info.nbytes, 8U);
  EXPECT_THAT(info.notes, ElementsAre("extra_bytes 7"));
}

TEST(ArrayInfoTest, PaddingThatAnOldHeaderLeftOutIsANote) {
  const ArrayInfo info =
      image_info(npy_image("[('a', '<i4'), ('b', '|i1')]", {3}, counting_bytes(24)));
  EXPECT_THAT(info.notes,
              ElementsAre("extra_bytes 9", HasSubstr("8 bytes an element, the dtype 5")));
}

TEST(ArrayInfoTest, ObjectsArePickledWhateverTheDataIs) {
  const ArrayInfo info = image_info(npy_image("'|O'", {1000}, counting_bytes(5)));
  EXPECT_TRUE(info.pickled);
  EXPECT_FALSE(info.has_views());
  EXPECT_FALSE(info.damaged);
  EXPECT_EQ(info.nbytes, 0U);
  EXPECT_TRUE(image_info(npy_image("[('o', '|O'), ('i', '<i4')]", {2}, {})).pickled);
}

TEST(ArrayInfoTest, AHeaderThatCannotBeReadIsDamageNotAnException) {
  for (const std::string_view image :
       {std::string_view("\x93NUMPY\1\0\x10\0nonsense........", 26),
        std::string_view("\x93NUMPY\1\0\xff\xff", 10), std::string_view("\x93NUMPY", 6),
        std::string_view("\x93NUMPY\4\0\x10\0................", 26), std::string_view()}) {
    const ArrayInfo info = describe_image(bytes_of(image), image.size());
    EXPECT_FALSE(info.known);
    EXPECT_TRUE(info.damaged);
    EXPECT_TRUE(info.error);
    EXPECT_FALSE(info.has_views());
  }
}

TEST(ArrayInfoTest, DataWithASidecarGetsAHeader) {
  const ArrayInfo info = told(R"({"shape": [2, 3], "dtype": "float8_e5m2"})", "\1\2\3\4\5\6");
  EXPECT_EQ(info.dtype_from, DtypeFrom::kSidecar);
  EXPECT_EQ(info.data_offset, info.header.size());
  EXPECT_EQ(info.stored_data_offset(), 0U);
  const NpyHeader header = parse_npy_header(bytes_of(info.header));
  EXPECT_EQ(header.shape, Shape({2, 3}));
  EXPECT_EQ(header.dtype.descr, "<V1");
  EXPECT_EQ(header.data_offset % 64, 0U);
}

TEST(ArrayInfoTest, ASidecarThatDisagreesWithTheSizeIsAnErrorWithNumbers) {
  const std::string data(23, '\xAB');
  EXPECT_THAT([&] { told(R"({"shape": [2, 3], "dtype": "float32"})", data); },
              ThrowsMessage<Error>("the sidecar: shape (2, 3) of float32 needs 24 bytes, 23 are "
                                   "there; fetch or write it again"));
  EXPECT_THAT([&] { told(R"({"shape": [4611686018427387904, 8], "dtype": "float32"})", data); },
              ThrowsMessage<Error>(HasSubstr("2^63")));
  EXPECT_THAT([&] { told(R"({"shape": [2], "dtype": "what"})", data); },
              ThrowsMessage<Error>(HasSubstr("what")));
}

TEST(ArrayInfoTest, DataThatIsSomethingElseIsNamedWhereTheSidecarDoesNotFit) {
  EXPECT_THAT(
      [] {
        told(R"({"shape": [2, 3], "dtype": "float32"})",
             "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 24\n");
      },
      ThrowsMessage<Error>("the sidecar: shape (2, 3) of float32 needs 24 bytes, 67 are there; "
                           "fetch or write it again; the data is a git LFS pointer of 67 bytes; "
                           "the real file has 24 bytes: "
                           "fetch it with 'git lfs pull'"));
}

TEST(ArrayInfoTest, ZerosAreNoOtherData) {
  EXPECT_THAT([] { told(R"({"shape": [2], "dtype": "float32"})", std::string(4, '\0')); },
              ThrowsMessage<Error>("the sidecar: shape (2,) of float32 needs 8 bytes, 4 are there; "
                                   "fetch or write it again"));
}

TEST(ArrayInfoTest, DataWithoutAHeaderNeedsShapeAndType) {
  EXPECT_THAT([] { told(R"({"dtype": "float8_e4m3fn"})", "\1\2\3"); },
              ThrowsMessage<Error>("the sidecar: no shape for 3 bytes that have no header; add "
                                   "\"shape\": [...], a list of lengths"));
  EXPECT_THAT([] { told(R"({"shape": [3]})", "\1\2\3"); },
              ThrowsMessage<Error>("the sidecar: no dtype for 3 bytes that have no header; add "
                                   "\"dtype\": \"...\", such as float32 or float8_e4m3fn"));
}

TEST(ArrayInfoTest, ATypeThatIsToldKeepsTheHeader) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(info, "float8_e4m3fn", DtypeFrom::kOption);
  EXPECT_EQ(dtype_name(info.dtype), "float8_e4m3fn");
  EXPECT_EQ(info.dtype.descr, "<V1");
  EXPECT_EQ(info.dtype_from, DtypeFrom::kOption);
  EXPECT_FALSE(info.error);
}

TEST(ArrayInfoTest, ATypeThatDoesNotFitIsAnErrorAndTheBytesStay) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(info, "bfloat16", DtypeFrom::kOption);
  EXPECT_THAT(info.error->what(), HasSubstr("--dtype: "));
  EXPECT_TRUE(info.has_views());
  EXPECT_EQ(info.dtype_from, DtypeFrom::kHeader);
  ArrayInfo fields = image_info(npy_image("[('a', '<i4')]", {3}, counting_bytes(12)));
  set_type(fields, "float32", DtypeFrom::kOption);
  EXPECT_TRUE(fields.error);
  EXPECT_TRUE(fields.has_views());
}

TEST(ArrayInfoTest, ASidecarBesideAnImageTellsItsTypeAndMustAgreeInShape) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(info, sidecar(R"({"shape": [3], "dtype": "float8_e4m3fn"})"));
  EXPECT_EQ(dtype_name(info.dtype), "float8_e4m3fn");
  EXPECT_EQ(info.dtype_from, DtypeFrom::kSidecar);
  ArrayInfo other = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(other, sidecar(R"({"shape": [4], "dtype": "float8_e4m3fn"})"));
  EXPECT_STREQ(other.error->what(),
               "the sidecar's shape is (4,), the header's (3,); correct or remove the sidecar");
  EXPECT_TRUE(other.has_views());
}

TEST(ArrayInfoTest, ASidecarBesideAnImageNeedsNoShape) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(info, sidecar(R"({"dtype": "float8_e4m3fn"})"));
  EXPECT_EQ(dtype_name(info.dtype), "float8_e4m3fn");
  EXPECT_EQ(info.dtype.descr, "<V1");
  EXPECT_EQ(info.dtype_from, DtypeFrom::kSidecar);
  EXPECT_FALSE(info.error);
  ArrayInfo wide = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(wide, sidecar(R"({"dtype": "bfloat16"})"));
  EXPECT_STREQ(wide.error->what(),
               "the sidecar: an element of 'bfloat16' has 2 bytes, one of this array ('<V1') 1; "
               "name a type of that size");
}

TEST(ArrayInfoTest, ASidecarOfAShapeAloneIsComparedAndLeavesTheType) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(info, sidecar(R"({"shape": [3]})"));
  EXPECT_EQ(info.dtype_from, DtypeFrom::kHeader);
  EXPECT_FALSE(info.error);
  set_type(info, sidecar(R"({"shape": [1, 3]})"));
  EXPECT_THAT(info.error->what(), HasSubstr("(1, 3)"));
  EXPECT_THAT(info.error->what(), HasSubstr("(3,)"));
}

TEST(ArrayInfoTest, TheOrderOfAnImageIsItsHeaders) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3, 2}, counting_bytes(6)));
  set_type(info, sidecar(R"({"dtype": "float8_e4m3fn", "order": "F"})"));
  EXPECT_FALSE(info.fortran_order);
  EXPECT_EQ(info.dtype_from, DtypeFrom::kSidecar);
}

TEST(ArrayInfoTest, AMetaOfOursPassesOnWhoToldTheType) {
  ArrayInfo info = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(
      info,
      sidecar(R"({"npyfs": 1, "dtype": "float8_e4m3fn", "dtype_from": "option", "shape": [3]})"));
  EXPECT_EQ(info.dtype_from, DtypeFrom::kOption);
  ArrayInfo plain = image_info(npy_image("'<V1'", {3}, counting_bytes(3)));
  set_type(plain, sidecar(R"({"npyfs": 1, "dtype": null, "dtype_from": "header", "shape": [3]})"));
  EXPECT_EQ(plain.dtype_from, DtypeFrom::kHeader);
  EXPECT_FALSE(plain.error);
}

TEST(ArrayInfoTest, EveryTellerHasAName) {
  EXPECT_EQ(dtype_from_name(DtypeFrom::kHeader), "header");
  EXPECT_EQ(dtype_from_name(DtypeFrom::kSidecar), "sidecar");
  EXPECT_EQ(dtype_from_name(DtypeFrom::kOption), "option");
  EXPECT_EQ(dtype_from_name(DtypeFrom::kContainer), "container");
}

}  // namespace
}  // namespace npyfs
