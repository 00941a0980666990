#include "npyfs/format/npy_header.h"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// An image whose header is `text` as it stands: no padding, no newline.
std::string image(std::string_view text, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    out += static_cast<char>(text.size() >> 8 * i & 0xFF);
  }
  return out += text;
}

NpyHeader parse(std::string_view text, int major = 1) {
  return parse_npy_header(bytes_of(image(text, major)));
}

std::string with_shape(std::string_view shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
}

std::string with_descr(std::string_view descr) {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (3,), }";
}

// Records how it was read.
class Recording final : public Source {
 public:
  explicit Recording(SourcePtr whole) : whole_(std::move(whole)) {}
  std::uint64_t size() const override { return whole_->size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    reads_.emplace_back(offset, dst.size());
    whole_->read(offset, dst);
  }
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& reads() const { return reads_; }

 private:
  SourcePtr whole_;
  mutable std::vector<std::pair<std::uint64_t, std::uint64_t>> reads_;
};

TEST(NpyHeaderTest, ReadsWhatNumpyWrites) {
  const std::string text =
      "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }" + std::string(59, ' ') + "\n";
  const NpyHeader header = parse(text);
  EXPECT_EQ(header.dtype.descr, "<f8");
  EXPECT_EQ(header.shape, (Shape{3, 4}));
  EXPECT_TRUE(header.fortran_order);
  EXPECT_EQ(header.data_offset, 128U);
  EXPECT_EQ(header.count, 12U);
  EXPECT_EQ(header.nbytes, 96U);
  EXPECT_EQ(header.major, 1);
  EXPECT_EQ(header.minor, 0);
  EXPECT_THAT(header.notes, IsEmpty());
}

TEST(NpyHeaderTest, WhatFollowsTheHeaderIsIgnored) {
  EXPECT_EQ(parse_npy_header(bytes_of(image(with_shape("(3,)")) + "data")).count, 3U);
}

TEST(NpyHeaderTest, AnyOrderQuotesAndBlanksWillDo) {
  for (const char* text : {
           "{\"shape\": (3,4), \"descr\": \"<f4\", \"fortran_order\": False}",
           "  { 'descr'\t:'<f4','fortran_order':False,\r\n'shape':( 3 , 4 , ) , } # done\n",
           "{u'descr': u'<f4', 'fortran_order': False, 'shape': (3L, 4L)}",
           "{'descr': '<' 'f4', 'fortran_order': False, 'shape': (0x3, +4)}",
           "{'descr': ('<f4'), 'fortran_order': False, 'shape': (3, 4)}",
       }) {
    SCOPED_TRACE(text);
    const NpyHeader header = parse(text);
    EXPECT_EQ(header.dtype.descr, "<f4");
    EXPECT_EQ(header.shape, (Shape{3, 4}));
    EXPECT_FALSE(header.fortran_order);
  }
}

TEST(NpyHeaderTest, OfTwoEqualKeysTheLastCounts) {
  EXPECT_EQ(parse("{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), "
                  "'shape': (2,)}")
                .nbytes,
            8U);
}

TEST(NpyHeaderTest, EveryVersionHasItsLengthField) {
  EXPECT_EQ(parse(with_shape("()"), 1).data_offset, 10U + with_shape("()").size());
  EXPECT_EQ(parse(with_shape("()"), 2).data_offset, 12U + with_shape("()").size());
  EXPECT_EQ(parse(with_shape("()"), 3).major, 3);
}

TEST(NpyHeaderTest, FieldNamesBecomeUtf8) {
  EXPECT_EQ(parse(with_descr("[('\xFC', '<i4')]"), 1).dtype.fields->front().name, "ü");
  EXPECT_EQ(parse(with_descr("[('\xFC', '<i4')]"), 2).dtype.fields->front().name, "ü");
  EXPECT_EQ(parse(with_descr("[('中', '<i4')]"), 3).dtype.fields->front().name, "中");
}

TEST(NpyHeaderTest, ScalarsAndEmptyArraysHaveTheirSizes) {
  EXPECT_EQ(parse(with_shape("()")).nbytes, 4U);
  EXPECT_EQ(parse(with_shape("(0,)")).nbytes, 0U);
  EXPECT_EQ(parse(with_shape("(9223372036854775807, 0)")).nbytes, 0U);
}

TEST(NpyHeaderTest, NotesWhatNumpyWouldNotTake) {
  EXPECT_THAT(parse(with_shape("()") + std::string(3, '\0')).notes,
              ElementsAre("nonstandard: header padded with 3 NUL bytes"));
  EXPECT_THAT(parse(with_descr("b'<f4'")).notes,
              ElementsAre("nonstandard: header has a bytes literal"));
  EXPECT_THAT(parse(with_descr("'<f1'")).notes,
              ElementsAre("nonstandard: plain NumPy doesn't know the descr"));
  EXPECT_THAT(parse(with_descr("[('\xFC', '<i4')]"), 3).notes,
              ElementsAre("nonstandard: header isn't UTF-8"));
}

TEST(NpyHeaderTest, NotesAHeaderThatNumpyFindsTooLong) {
  const std::string most = with_shape("()") + std::string(10000 - with_shape("()").size(), ' ');
  EXPECT_THAT(parse(most).notes, IsEmpty());
  EXPECT_THAT(parse(most + " ").notes, ElementsAre("needs_max_header_size 10001"));
  // NumPy counts characters, not bytes.
  std::string name;
  for (int i = 0; i < 4000; ++i) {
    name += "中";
  }
  EXPECT_THAT(parse(with_descr("[('" + name + "', '<i4')]"), 3).notes, IsEmpty());
}

TEST(NpyHeaderTest, RefusesShapesThatAreNone) {
  for (const char* shape : {"(2)", "[2]", "2", "(2.5,)", "(True,)", "(-1,)", "('2',)", "(2 3)",
                            "(2,,3)", "(,)", "None", "(2,", "((2,),)"}) {
    EXPECT_THROW(parse(with_shape(shape)), Error) << shape;
  }
}

TEST(NpyHeaderTest, RefusesMoreThan64Dimensions) {
  std::string ones = "(";
  for (int i = 0; i < 64; ++i) {
    ones += "1, ";
  }
  EXPECT_EQ(parse(with_shape(ones + ")")).shape.size(), 64U);
  EXPECT_THAT([&] { parse(with_shape(ones + "1)")); },
              ThrowsMessage<Error>(HasSubstr("more than 64 dimensions")));
}

TEST(NpyHeaderTest, RefusesSizesThatOverflow) {
  EXPECT_THAT([] { parse(with_shape("(4294967296, 4294967296)")); },
              ThrowsMessage<Error>(HasSubstr("more than 2^63 elements; fetch or write it again")));
  EXPECT_THAT([] { parse(with_shape("(4611686018427387904,)")); },
              ThrowsMessage<Error>(HasSubstr("more than 2^63 bytes")));
  EXPECT_THROW(parse(with_shape("(9223372036854775808,)")), Error);
}

TEST(NpyHeaderTest, RefusesDictionariesThatAreNone) {
  for (const char* text : {
           "",
           "{",
           "{}",
           "[]",
           "'descr'",
           "{'descr'}",
           "{'descr': '<f4', 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
           "{'descr': '<f4', 'fortran_order': false, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}}",
           "{'descr': '<f4', , 'fortran_order': False, 'shape': (3,)}",
       }) {
    EXPECT_THAT([&] { parse(text); },
                ThrowsMessage<Error>(testing::EndsWith("; fetch or write it again")))
        << text;
  }
  EXPECT_THAT([] { parse("{'descr': '<f4', 'shape': (3,)}"); },
              ThrowsMessage<Error>("the header lacks 'fortran_order'; fetch or write it again"));
}

TEST(NpyHeaderTest, RefusesCode) {
  for (const char* descr :
       {"dtype('<f4')", "np.float32", "('|O', {'vlen': dtype('float64')})", "'<f' + '4'", "f'<f4'",
        "None", "{'names': ['a'], 'formats': ['i4']}"}) {
    EXPECT_THROW(parse(with_descr(descr)), Error) << descr;
  }
}

TEST(NpyHeaderTest, SizeIsToldByTheFirstTwelveBytes) {
  EXPECT_EQ(npy_header_size(bytes_of(image("0123456789")).first(10)), 20U);
  EXPECT_EQ(npy_header_size(bytes_of(image("0123456789", 2)).first(12)), 22U);
}

TEST(NpyHeaderTest, SizeIsRefusedWithoutItsBytes) {
  EXPECT_THAT([] { npy_header_size(bytes_of("PK\3\4")); },
              ThrowsMessage<Error>(HasSubstr("not a .npy image")));
  EXPECT_THAT([] { npy_header_size(bytes_of(image("")).first(9)); },
              ThrowsMessage<Error>(HasSubstr("ends after 9 bytes")));
  EXPECT_THAT([] { npy_header_size(bytes_of(image("", 2)).first(11)); },
              ThrowsMessage<Error>(HasSubstr("ends after 11 bytes")));
}

TEST(NpyHeaderTest, UnknownVersionsAreUnsupported) {
  for (const auto& [major, minor] : {std::pair{0, 1}, {0, 0}, {1, 1}, {2, 1}, {4, 0}, {255, 255}}) {
    std::string bytes = image("0123456789");
    bytes[6] = static_cast<char>(major);
    bytes[7] = static_cast<char>(minor);
    try {
      npy_header_size(bytes_of(bytes));
      ADD_FAILURE() << major << "." << minor;
    } catch (const Error& e) {
      EXPECT_EQ(e.errno_value(), EOPNOTSUPP) << e.what();
    }
  }
}

TEST(NpyHeaderTest, AHugeLengthIsRefusedBeforeAnythingIsRead) {
  std::string bytes = image("", 2);
  bytes.replace(8, 4, "\xF0\xFF\xFF\xFF");
  EXPECT_THAT([&] { read_npy_header(*memory(bytes)); },
              ThrowsMessage<Error>(
                  HasSubstr("length 4294967280 passes the limit of 16777216 bytes; fetch")));
}

TEST(NpyHeaderTest, ALengthPastTheEndIsRefusedWithNumbers) {
  std::string bytes = image("{");
  bytes[9] = '\x7F';
  EXPECT_THAT([&] { read_npy_header(*memory(bytes)); },
              ThrowsMessage<Error>(
                  "the header's 32523 bytes run past the 11 there are; fetch or write it again"));
  EXPECT_THROW(parse_npy_header(bytes_of(bytes)), Error);
}

TEST(NpyHeaderTest, EveryShorterImageIsRefused) {
  const std::string whole = write_npy_header("'<f4'", Shape{3}, false);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(read_npy_header(*memory(whole.substr(0, size))), Error) << size;
  }
}

TEST(NpyHeaderTest, OneSmallReadIsEnoughForMost) {
  const Recording source(memory(image(with_shape("(3,)")) + std::string(5000, 'x')));
  EXPECT_EQ(read_npy_header(source).count, 3U);
  EXPECT_THAT(source.reads(), ElementsAre(std::pair(0, 512)));
}

TEST(NpyHeaderTest, ALongHeaderTakesOneReadMore) {
  const std::string text = with_shape("(3,)") + std::string(2000, ' ');
  const Recording source(memory(image(text) + std::string(5000, 'x')));
  EXPECT_EQ(read_npy_header(source).data_offset, 10 + text.size());
  EXPECT_THAT(source.reads(),
              ElementsAre(std::pair(0, 512), std::pair(512, 10 + text.size() - 512)));
}

TEST(NpyHeaderTest, WhatIsAtHandIsNotReadAgain) {
  const std::string text = with_shape("(3,)") + std::string(2000, ' ');
  const std::string whole = image(text);
  for (const std::size_t known : {std::size_t{12}, std::size_t{600}, whole.size()}) {
    const Recording source(memory(whole));
    EXPECT_EQ(read_npy_header(source, bytes_of(whole).first(known)).count, 3U);
    const auto read = std::pair<std::uint64_t, std::uint64_t>(known, whole.size() - known);
    EXPECT_EQ(source.reads().empty(), known == whole.size());
    EXPECT_TRUE(source.reads().empty() || source.reads() == std::vector{read});
  }
}

TEST(NpyHeaderTest, WritesAsNumpyDoes) {
  EXPECT_EQ(write_npy_header("'<f4'", Shape{3, 4}, false),
            std::string("\x93NUMPY\x01\0\x76\0", 10) +
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" +
                std::string(58, ' ') + "\n");
  EXPECT_EQ(write_npy_header("'<f4'", Shape{}, true),
            std::string("\x93NUMPY\x01\0\x76\0", 10) +
                "{'descr': '<f4', 'fortran_order': True, 'shape': (), }" + std::string(63, ' ') +
                "\n");
}

TEST(NpyHeaderTest, LeavesRoomForTheAxisThatGrows) {
  // So long that it is the room for 21 digits that takes another 64 bytes.
  const std::string descr = "'|V" + std::string(54, '0') + "1'";
  EXPECT_EQ(write_npy_header(descr, Shape{}, false).size(), 128U);
  for (const std::uint64_t length : {std::uint64_t{1}, std::uint64_t{INT64_MAX}}) {
    EXPECT_EQ(write_npy_header(descr, Shape{length}, false).size(), 192U);
    EXPECT_EQ(write_npy_header(descr, Shape{1, length}, true).size(), 192U);
  }
}

TEST(NpyHeaderTest, ChoosesTheLowestVersionThatWorks) {
  EXPECT_EQ(write_npy_header("[('ü', '<i4')]", Shape{1}, false)[6], 1);
  EXPECT_THAT(write_npy_header("[('ü', '<i4')]", Shape{1}, false), HasSubstr("('\xFC',"));
  EXPECT_EQ(write_npy_header("[('中', '<i4')]", Shape{1}, false)[6], 3);
  const std::string long_descr = "[('" + std::string(66000, 'a') + "', '<i4')]";
  EXPECT_EQ(write_npy_header(long_descr, Shape{1}, false)[6], 2);
}

TEST(NpyHeaderTest, WhatIsWrittenReadsBack) {
  for (const char* descr : {"'|u1'", "'>f8'", "'<V1'", "[('ü', '<i4'), ('', '|V4')]",
                            "[('中', '<f4', (2, 3)), (('T', 'b'), [('c', '|S3')])]", "[]"}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3, 4}}) {
      const std::string bytes = write_npy_header(descr, shape, shape.size() == 3);
      EXPECT_EQ(bytes.size() % 64, 0U);
      const NpyHeader header = parse_npy_header(bytes_of(bytes));
      EXPECT_EQ(header.data_offset, bytes.size());
      EXPECT_EQ(descr_repr(header.dtype), descr);
      EXPECT_EQ(header.shape, shape);
      EXPECT_EQ(header.fortran_order, shape.size() == 3);
    }
  }
}

}  // namespace
}  // namespace npyfs
