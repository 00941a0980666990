#include "npyfs/format/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

std::optional<Sidecar> parse(std::string_view json) { return parse_sidecar(bytes_of(json)); }

TEST(SidecarTest, ReadsShapeAndDtype) {
  const auto sidecar = parse(R"({"shape": [3, 4], "dtype": "float8_e5m2"})");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->shape, (Shape{3, 4}));
  EXPECT_EQ(sidecar->dtype, "float8_e5m2");
  EXPECT_FALSE(sidecar->fortran_order);
  EXPECT_FALSE(sidecar->ours);
  EXPECT_EQ(sidecar_dtype(*sidecar).descr, "<V1");
  EXPECT_EQ(sidecar_dtype(*sidecar).element, ElementType::kFloat8E5m2);
}

TEST(SidecarTest, AShapeMayBeOneNumberOrEmpty) {
  EXPECT_EQ(parse(R"({"shape": 5, "dtype": "<f4"})")->shape, (Shape{5}));
  EXPECT_EQ(parse(R"({"shape": [], "dtype": "<f4"})")->shape, (Shape{}));
}

TEST(SidecarTest, HasAShapeOrADtypeOrBoth) {
  const auto typed = parse(R"({"dtype": "float8_e4m3fn"})");
  ASSERT_TRUE(typed);
  EXPECT_EQ(typed->shape, std::nullopt);
  EXPECT_EQ(typed->dtype, "float8_e4m3fn");
  const auto shaped = parse(R"({"shape": [3]})");
  ASSERT_TRUE(shaped);
  EXPECT_EQ(shaped->shape, (Shape{3}));
  EXPECT_EQ(shaped->dtype, std::nullopt);
}

TEST(SidecarTest, AValueOfTheWrongKindIsAsIfItWereMissing) {
  for (const char* json :
       {R"({"shape": "3", "dtype": "<f4"})", R"({"shape": [-3], "dtype": "<f4"})",
        R"({"shape": [1.5], "dtype": "<f4"})", R"({"shape": [[3]], "dtype": "<f4"})",
        R"({"shape": [9223372036854775808], "dtype": "<f4"})", R"({"shape": null, "dtype": "<f4"})",
        R"({"shape": [NaN], "dtype": "<f4"})"}) {
    const auto sidecar = parse(json);
    ASSERT_TRUE(sidecar) << json;
    EXPECT_FALSE(sidecar->shape) << json;
  }
  for (const char* json : {R"({"shape": [3], "dtype": 4})", R"({"shape": [3], "dtype": null})",
                           R"({"shape": [3], "dtype": NaN})"}) {
    const auto sidecar = parse(json);
    ASSERT_TRUE(sidecar) << json;
    EXPECT_FALSE(sidecar->dtype) << json;
  }
}

TEST(SidecarTest, KnowsFortranOrderInBothSpellings) {
  EXPECT_TRUE(parse(R"({"shape": [2], "dtype": "<f4", "order": "F"})")->fortran_order);
  EXPECT_FALSE(parse(R"({"shape": [2], "dtype": "<f4", "order": "C"})")->fortran_order);
  EXPECT_TRUE(parse(R"({"shape": [2], "dtype": "<f4", "order": "f"})")->fortran_order);
  EXPECT_TRUE(parse(R"({"shape": [2], "dtype": "<f4", "order": "Fortran"})")->fortran_order);
  EXPECT_TRUE(parse(R"({"shape": [2], "dtype": "<f4", "fortran_order": true})")->fortran_order);
  EXPECT_FALSE(parse(R"({"shape": [2], "dtype": "<f4", "fortran_order": false})")->fortran_order);
}

TEST(SidecarTest, OtherKeysAreIgnored) {
  const auto sidecar =
      parse(R"({"epoch": {"deep": [[[1]]]}, "shape": [2], "dtype": "int4", "npyfs": "no"})");
  ASSERT_TRUE(sidecar);
  EXPECT_FALSE(sidecar->ours);
}

TEST(SidecarTest, MindsNoNumbersThatOnlyPythonWrites) {
  const auto sidecar = parse(
      R"({"min": NaN, "range": [-Infinity, Infinity], "NaN\"": "\\", "shape": [2], "dtype": "int4"})");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->dtype, "int4");
  EXPECT_EQ(parse(R"({"x": NaN, "shape": [2], "dtype": "-Infinity"})")->dtype, "-Infinity");
  EXPECT_FALSE(parse(R"({"x": NaNs, "shape": [2], "dtype": "int4"})"));
}

TEST(SidecarTest, WhatIsNoSidecarIsNone) {
  for (const char* json :
       {"", "[]", "3", "null", "{", "{}", R"({"epoch": 3})", R"({"shape": "3"})",
        R"({"shape": [-3], "dtype": 4})", R"({"dtype": NaN})",
        R"({"shape": [3], "dtype": "<f4"} x)", "{\"shape\": [3], \"dtype\": \"\xFF\"}",
        "torch.Size([3])", "{'shape': [3]}"}) {
    EXPECT_FALSE(parse(json)) << json;
  }
}

TEST(SidecarTest, RefusesMoreThan64Dimensions) {
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) {
    ones += ",1";
  }
  EXPECT_TRUE(parse("{\"shape\": [" + ones + "], \"dtype\": \"<f4\"}"));
  EXPECT_FALSE(parse("{\"shape\": [" + ones + ",1], \"dtype\": \"<f4\"}")->shape);
}

TEST(SidecarTest, RefusesDepthAndSizeWithoutEnd) {
  EXPECT_FALSE(parse(std::string(1000000, '[')));
  EXPECT_FALSE(parse(R"({"shape": [3], "dtype": "<f4", "x": )" + std::string(300, '[') +
                     std::string(300, ']') + "}"));
  EXPECT_TRUE(parse(R"({"shape": [3], "dtype": "<f4", "x": ")" + std::string(300, '[') + "\"}"));
  const std::string large = R"({"shape": [3], "dtype": "<f4", "x": ")";
  EXPECT_FALSE(parse(large + std::string(kMaxSidecarSize, 'x') + "\"}"));
}

TEST(SidecarTest, ReadsAMetaFileOfOurs) {
  const auto sidecar = parse(R"({
    "npyfs": 1, "name": "w_fp8", "dtype": "float8_e4m3fn", "dtype_from": "option", "descr": "<V1",
    "shape": [2, 3], "fortran_order": true, "itemsize": 1, "size": 6, "nbytes": 6,
    "files": {"npy": 134, "raw": 6, "u8view.npy": 134}, "notes": ["x"]})");
  ASSERT_TRUE(sidecar);
  EXPECT_TRUE(sidecar->ours);
  EXPECT_TRUE(sidecar->fortran_order);
  EXPECT_EQ(sidecar->name, "w_fp8");
  EXPECT_EQ(sidecar->dtype_from, "option");
  EXPECT_THAT(sidecar->files,
              UnorderedElementsAre(Pair("npy", 134), Pair("raw", 6), Pair("u8view.npy", 134)));
  EXPECT_EQ(dtype_name(sidecar_dtype(*sidecar)), "float8_e4m3fn");
}

TEST(SidecarTest, AMetaFileOfOursKeepsByteOrder) {
  const auto sidecar = parse(R"({"npyfs": 1, "dtype": "bfloat16", "descr": ">V2", "shape": [2]})");
  EXPECT_EQ(sidecar_dtype(*sidecar).order, ByteOrder::kBig);
  EXPECT_EQ(sidecar_dtype(*sidecar).descr, ">V2");
}

TEST(SidecarTest, ANewHeaderNeverRepeatsADescrNumpyRefuses) {
  const auto sidecar =
      parse(R"({"npyfs": 1, "dtype": "float8_e5m2", "descr": "<f1", "shape": [2]})");
  EXPECT_EQ(sidecar_dtype(*sidecar).descr, "<V1");
  EXPECT_EQ(dtype_name(sidecar_dtype(*sidecar)), "float8_e5m2");
}

TEST(SidecarTest, AMetaFileOfOursMayDescribeFields) {
  const auto sidecar = parse(
      R"({"npyfs": 1, "dtype": null, "descr": [["ü\n", "<i4"], ["b", "<f8", [2]]], "shape": [2]})");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->dtype, std::nullopt);
  EXPECT_EQ(sidecar_dtype(*sidecar).itemsize, 20U);
  EXPECT_EQ(sidecar_dtype(*sidecar).fields->front().name, "ü\n");
}

TEST(SidecarTest, AMetaFileOfOursMayKnowNothing) {
  const auto sidecar = parse(R"({"npyfs": 1, "error": "cut", "descr": 7, "files": {"npy": -1}})");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->shape, std::nullopt);
  EXPECT_FALSE(sidecar->descr);
  EXPECT_TRUE(sidecar->files.empty());
  EXPECT_THROW(sidecar_dtype(*sidecar), Error);
}

TEST(SidecarTest, AnUnknownTypeIsFoundWhenItIsAskedFor) {
  const auto sidecar = parse(R"({"shape": [3], "dtype": "float9"})");
  ASSERT_TRUE(sidecar);
  EXPECT_THROW(sidecar_dtype(*sidecar), Error);
}

}  // namespace
}  // namespace npyfs
