#include "npyfs/format/sniff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace npyfs {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;
using testing::StartsWith;

std::string describe(std::string_view content) {
  return describe_bytes(bytes_of(content.substr(0, kSniffSize)), content.size());
}

TEST(SniffTest, ALargeFilePointerSaysHowManyBytesAreMissing) {
  EXPECT_EQ(describe("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123456\n"),
            "a git LFS pointer of 71 bytes; the real file has 123456 bytes: fetch it with 'git lfs "
            "pull'");
  EXPECT_THAT(describe("version https://git-lfs.github.com/spec/v1\n"),
              StartsWith("a git LFS pointer"));
}

TEST(SniffTest, AnHtmlPageIsOneInAnyCaseAndWithBlanksInFront) {
  for (const std::string_view page :
       {"<!DOCTYPE html><html>"sv, "\r\n  <HTML>"sv, "<?xml version"sv, "<head>"sv}) {
    EXPECT_THAT(describe(page), StartsWith("an HTML page")) << page;
  }
}

TEST(SniffTest, KnowsWhatPeopleTakeForArrays) {
  EXPECT_THAT(describe(""), StartsWith("an empty file"));
  EXPECT_EQ(describe("\x93NUMPY\1\0"sv), "a .npy image");
  EXPECT_EQ(describe("PK\3\4"), "a zip archive");
  EXPECT_EQ(describe("PK\5\6"), "a zip archive");
  EXPECT_THAT(describe("\x1f\x8b\x08"), HasSubstr("gzip"));
  EXPECT_THAT(describe("\x28\xb5\x2f\xfd"), HasSubstr("zstd"));
  EXPECT_THAT(describe("\x78\x9c\x01"), HasSubstr("zlib"));
  EXPECT_THAT(describe("\x5d\0\0\x80"sv), HasSubstr("lzma"));
  EXPECT_THAT(describe("\x89HDF\r\n\x1a\n"), HasSubstr("HDF5"));
  EXPECT_THAT(describe("\x80\4\x95"), HasSubstr("pickle"));
  EXPECT_THAT(describe("{\"a\": 1}"), HasSubstr("JSON"));
  EXPECT_THAT(describe("\x10\0\0\0\0\0\0\0{\"w\":{}}        "sv), HasSubstr("safetensors"));
  EXPECT_THAT(describe(std::string(1000, '\0')), HasSubstr("zero bytes"));
}

TEST(SniffTest, RecognisesNothingInAllElse) {
  EXPECT_EQ(recognise_bytes(bytes_of("\xde\xad\xbe\xef"), 4), std::nullopt);
  EXPECT_EQ(recognise_bytes(bytes_of("PK\3\4"), 4), "a zip archive");
}

TEST(SniffTest, ShowsTheFirstBytesOfAllElse) {
  EXPECT_EQ(describe("\xde\xad\xbe\xef"), "data that begins with the bytes de ad be ef");
  EXPECT_EQ(describe("0123456789"), "data that begins with the bytes 30 31 32 33 34 35 36 37");
}

TEST(SniffTest, WhatMayBeRawNumbersNeedsASidecar) {
  const auto no_image = [](std::string_view content) {
    return describe_no_image(bytes_of(content), content.size());
  };
  EXPECT_EQ(no_image("\xde\xad"),
            "data that begins with the bytes de ad; raw numbers need a sidecar NAME_meta.json with "
            "shape and dtype");
  EXPECT_EQ(no_image("PK\3\4"), "a zip archive");
}

TEST(SniffTest, ZipsBeginWithAMemberOrAnEnd) {
  EXPECT_TRUE(has_zip_magic(bytes_of("PK\3\4")));
  EXPECT_TRUE(has_zip_magic(bytes_of("PK\5\6\0\0"sv)));
  EXPECT_TRUE(has_zip_magic(bytes_of("PK\6\6\x2c\0"sv)));
  EXPECT_FALSE(has_zip_magic(bytes_of("PK\1\2")));
  EXPECT_FALSE(has_zip_magic(bytes_of("PK")));
}

}  // namespace
}  // namespace npyfs
