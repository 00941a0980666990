#include "npyfs/format/dtype.h"

#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// A descr, what meta.json calls it ("" where it has no name), what a new header says, its bytes.
struct Dialect {
  const char* descr;
  const char* name;
  const char* loadable;
  std::uint64_t itemsize;
  friend std::ostream& operator<<(std::ostream& out, const Dialect& d) { return out << d.descr; }
};

class DialectTest : public testing::TestWithParam<Dialect> {};

TEST_P(DialectTest, IsRead) {
  const Dialect& want = GetParam();
  const Dtype dtype = parse_descr(want.descr);
  EXPECT_EQ(dtype.descr, want.descr);
  EXPECT_EQ(dtype_name(dtype).value_or(""), want.name);
  EXPECT_EQ(loadable(dtype).descr, want.loadable);
  EXPECT_EQ(dtype.itemsize, want.itemsize);
}

INSTANTIATE_TEST_SUITE_P(
    Numpy, DialectTest,
    testing::Values(Dialect{"|b1", "bool", "|b1", 1}, Dialect{"|i1", "int8", "|i1", 1},
                    Dialect{"<i2", "int16", "<i2", 2}, Dialect{">u8", ">u8", ">u8", 8},
                    Dialect{"<f2", "float16", "<f2", 2}, Dialect{">f4", ">f4", ">f4", 4},
                    Dialect{"<f16", "float128", "<f16", 16}, Dialect{"<c8", "complex64", "<c8", 8},
                    Dialect{"<c32", "complex256", "<c32", 32}, Dialect{"|S3", "|S3", "|S3", 3},
                    Dialect{"<U21", "<U21", "<U21", 84}, Dialect{">U1", ">U1", ">U1", 4},
                    Dialect{"|V8", "|V8", "|V8", 8}, Dialect{"|O", "|O", "|O", 8},
                    Dialect{"<M8[ns]", "datetime64[ns]", "<M8[ns]", 8},
                    Dialect{"<m8[25s]", "timedelta64[25s]", "<m8[25s]", 8},
                    Dialect{"<M8", "datetime64", "<M8", 8},
                    Dialect{">M8[D]", ">M8[D]", ">M8[D]", 8}, Dialect{"<U0", "<U0", "<U0", 0},
                    Dialect{"|S0", "|S0", "|S0", 0}, Dialect{"|V0", "|V0", "|V0", 0}));

INSTANTIATE_TEST_SUITE_P(
    OtherSpellings, DialectTest,
    testing::Values(Dialect{"f4", "float32", "<f4", 4}, Dialect{"=f4", "float32", "<f4", 4},
                    Dialect{"|f4", "float32", "<f4", 4}, Dialect{"<i1", "int8", "|i1", 1},
                    Dialect{">b1", "bool", "|b1", 1}, Dialect{">S3", "|S3", "|S3", 3},
                    Dialect{"|a3", "|S3", "|S3", 3}, Dialect{"b", "int8", "|i1", 1},
                    Dialect{"b1", "bool", "|b1", 1}, Dialect{"?", "bool", "|b1", 1},
                    Dialect{"l", "int64", "<i8", 8}, Dialect{">g", ">f16", ">f16", 16},
                    Dialect{"c", "|S1", "|S1", 1}, Dialect{"float32", "float32", "<f4", 4},
                    Dialect{"int64", "int64", "<i8", 8}, Dialect{"bool", "bool", "|b1", 1},
                    Dialect{"complex128", "complex128", "<c16", 16},
                    Dialect{"str", "<U0", "<U0", 0}, Dialect{"|O8", "|O", "|O", 8},
                    Dialect{"object", "|O", "|O", 8},
                    Dialect{"datetime64[us]", "datetime64[us]", "<M8[us]", 8},
                    Dialect{"<M8[ns/1000]", "datetime64[ps]", "<M8[ps]", 8},
                    Dialect{"<m8[7D/2]", "timedelta64[84h]", "<m8[84h]", 8},
                    Dialect{"<M8[1s]", "datetime64[s]", "<M8[s]", 8},
                    Dialect{"<M8[generic]", "datetime64", "<M8", 8},
                    Dialect{" f4", "float32", "<f4", 4}));

INSTANTIATE_TEST_SUITE_P(
    UserDefined, DialectTest,
    testing::Values(Dialect{"<f1", "float8_e5m2", "<V1", 1}, Dialect{"<V2", "bfloat16", "<V2", 2},
                    Dialect{">V2", "bfloat16", ">V2", 2}, Dialect{"<g2", "bfloat16", "<V2", 2},
                    Dialect{"<c4", "complex32", "<V4", 4},
                    Dialect{"bfloat16", "bfloat16", "<V2", 2},
                    Dialect{"float8_e4m3fn", "float8_e4m3fn", "<V1", 1},
                    Dialect{"int4", "int4", "<V1", 1}, Dialect{"uint1", "uint1", "<V1", 1},
                    Dialect{"<V1", "|V1", "<V1", 1}, Dialect{"|V1", "|V1", "|V1", 1},
                    Dialect{"|V2", "|V2", "|V2", 2}, Dialect{"<W4", "|V4", "<V4", 4},
                    Dialect{"<V4", "|V4", "<V4", 4}));

INSTANTIATE_TEST_SUITE_P(
    NoTypeOfNumpys, DialectTest,
    testing::Values(Dialect{"<f10", "", "<V10", 10}, Dialect{"<f12", "", "<V12", 12},
                    Dialect{"<i16", "", "<V16", 16}, Dialect{"<?4", "", "<V4", 4},
                    Dialect{"<E1", "", "<V1", 1}, Dialect{">L3", "", ">V3", 3},
                    Dialect{"!f4", "", "<V4", 4}, Dialect{"!U2", "", "<V8", 8},
                    Dialect{"<M4", "", "<V4", 4}, Dialect{"<M8[weeks]", "", "<V8", 8},
                    Dialect{"2f4", "", "<V8", 8}, Dialect{"(2,)f4", "", "<V8", 8},
                    Dialect{"(2, 3)>i2", "", "<V12", 12}));

TEST(DtypeTest, RefusesADescrWithoutASize) {
  for (const char* descr :
       {"", "zz", "<", "float8", "x", "f-4", "S-3", "<f4[s]", "U9223372036854775807",
        "f99999999999999999999", "f4,,i4", ",f4", "(2,f4", "(x)f4", "\xFF", "[4", "'4"}) {
    EXPECT_THROW(parse_descr(descr), Error) << descr;
  }
  EXPECT_THAT([] { parse_descr("zz"); },
              ThrowsMessage<Error>("descr 'zz' is no type and has no item size"));
}

TEST(DtypeTest, SaysWhatPlainNumpyLoads) {
  for (const char* descr : {"<f4", "f4", "float32", "<V2", "|V1", "<V1", "<f4,<i4", "O8"}) {
    EXPECT_TRUE(parse_descr(descr).numpy_loads) << descr;
  }
  for (const char* descr : {"<f1", "<f10", "<W4", "<c4", "<g2", "bfloat16", "<f4,<f1", "2f4"}) {
    EXPECT_FALSE(parse_descr(descr).numpy_loads) << descr;
    EXPECT_TRUE(loadable(parse_descr(descr)).numpy_loads) << descr;
  }
}

TEST(DtypeTest, KnowsKindAndByteOrder) {
  EXPECT_EQ(parse_descr("<f4").kind, DtypeKind::kFloat);
  EXPECT_EQ(parse_descr("<f4").order, ByteOrder::kLittle);
  EXPECT_EQ(parse_descr(">f4").order, ByteOrder::kBig);
  EXPECT_EQ(parse_descr(">u1").order, ByteOrder::kNone);
  EXPECT_EQ(parse_descr(">V2").order, ByteOrder::kBig);
  EXPECT_EQ(parse_descr(">V2").element, ElementType::kBfloat16);
  EXPECT_EQ(parse_descr("|V2").kind, DtypeKind::kVoid);
}

std::vector<std::string> field_names(const Dtype& dtype) {
  std::vector<std::string> names;
  for (const Field& field : *dtype.fields) {
    if (!field.padding) {
      names.push_back(field.name + "@" + std::to_string(field.offset));
    }
  }
  return names;
}

TEST(DtypeTest, CommaStringsAreFields) {
  const Dtype dtype = parse_descr("<f4, (2,3)>i2,2u1");
  EXPECT_EQ(dtype.kind, DtypeKind::kStruct);
  EXPECT_EQ(dtype.itemsize, 4U + 12 + 2);
  EXPECT_THAT(field_names(dtype), ElementsAre("f0@0", "f1@4", "f2@16"));
  EXPECT_EQ(descr_json(dtype), "\"<f4, (2,3)>i2,2u1\"");
  EXPECT_EQ(descr_repr(loadable(dtype)),
            "[('f0', '<f4'), ('f1', '>i2', (2, 3)), ('f2', '|u1', (2,))]");
  EXPECT_EQ(dtype_name(dtype), std::nullopt);
}

// A list of fields in JSON, which nests like the one in a header.
Dtype fields_of(const char* json) { return parse_descr_json(json); }

TEST(DtypeTest, PaddingCountsButIsNoField) {
  const Dtype dtype = fields_of(R"([["a", "<i4"], ["", "|V4"], ["b", "<i2"], ["", "|V6"]])");
  EXPECT_EQ(dtype.itemsize, 16U);
  EXPECT_THAT(field_names(dtype), ElementsAre("a@0", "b@8"));
  EXPECT_EQ(descr_json(dtype), R"([["a", "<i4"], ["", "|V4"], ["b", "<i2"], ["", "|V6"]])");
}

TEST(DtypeTest, ReadsNestingTitlesAndSubArrays) {
  const char* json =
      R"([["n", [["x", "<f4"], ["y", ">i2"]]], ["m", "<f8", [2, 3]], [["Title", "c"], "<U4"]])";
  const Dtype dtype = fields_of(json);
  EXPECT_THAT(field_names(dtype), ElementsAre("n@0", "m@6", "c@54"));
  EXPECT_EQ((*dtype.fields)[2].title, "Title");
  EXPECT_EQ((*dtype.fields)[1].shape, (Shape{2, 3}));
  EXPECT_EQ(dtype.itemsize, 70U);
  EXPECT_EQ(descr_json(dtype), json);
  EXPECT_EQ(descr_repr(dtype),
            "[('n', [('x', '<f4'), ('y', '>i2')]), ('m', '<f8', (2, 3)), (('Title', 'c'), '<U4')]");
}

TEST(DtypeTest, AnEmptyListHasNoBytes) {
  const Dtype dtype = fields_of("[]");
  EXPECT_EQ(dtype.itemsize, 0U);
  EXPECT_EQ(descr_json(dtype), "[]");
}

TEST(DtypeTest, AnObjectAnywhereMakesItAPickle) {
  EXPECT_TRUE(parse_descr("|O").has_objects);
  EXPECT_TRUE(fields_of(R"([["a", [["o", "|O"]], [2]], ["b", "<i4"]])").has_objects);
  EXPECT_FALSE(fields_of(R"([["a", "<i4"]])").has_objects);
}

TEST(DtypeTest, LoadableReachesIntoFields) {
  const Dtype dtype = fields_of(R"([["w", "<f1"], ["n", [["x", "<f10"]]]])");
  EXPECT_FALSE(dtype.numpy_loads);
  EXPECT_EQ(descr_repr(loadable(dtype)), "[('w', '<V1'), ('n', [('x', '<V10')])]");
  EXPECT_EQ((*loadable(dtype).fields)[0].dtype.element, ElementType::kFloat8E5m2);
}

TEST(DtypeTest, RefusesNestingWithoutEnd) {
  const auto nested = [](int levels) {
    std::string json;
    for (int i = 0; i < levels; ++i) {
      json += "[[\"a\", ";
    }
    json += "\"<f4\"";
    for (int i = 0; i < levels; ++i) {
      json += "]]";
    }
    return json;
  };
  EXPECT_EQ(parse_descr_json(nested(64)).itemsize, 4U);
  EXPECT_THAT([&] { parse_descr_json(nested(65)); },
              ThrowsMessage<Error>(HasSubstr("nested more than 64 deep")));
  EXPECT_THROW(parse_descr_json(std::string(1000000, '(')), Error);
  EXPECT_THROW(parse_descr_json(std::string(1000000, '[')), Error);
}

TEST(DtypeTest, RefusesFieldsWithoutEnd) {
  std::string commas;
  for (std::size_t i = 0; i < kMaxFields; ++i) {
    commas += "b,";
  }
  EXPECT_EQ(parse_descr(commas).itemsize, kMaxFields);
  EXPECT_THAT([&] { parse_descr(commas + "b"); },
              ThrowsMessage<Error>("descr has more than 100000 fields"));
  EXPECT_THROW(parse_descr_json("[[\"a\", \"" + commas + "\"]]"), Error);
}

TEST(DtypeTest, RefusesSizesThatOverflow) {
  EXPECT_THROW(fields_of(R"([["a", "|V9223372036854775807"], ["b", "|V1"]])"), Error);
  EXPECT_THROW(fields_of(R"([["a", "<f8", [4294967296, 4294967296]]])"), Error);
  EXPECT_THROW(parse_descr("4611686018427387904f8"), Error);
}

TEST(DtypeTest, RefusesListsThatAreNoFields) {
  for (const char* json : {"[", "[[]]", "[[\"a\"]]", "[\"a\", \"<f4\"]", "[[\"a\", 4]]", "3", "",
                           "[[\"a\", \"<f4\", \"x\"]]", "[[\"a\", \"<f4\"] [\"b\", \"<f4\"]]",
                           "{\"a\": \"<f4\"}", "[[\"a\", \"<f4\"]] x"}) {
    EXPECT_THROW(fields_of(json), Error) << json;
  }
}

TEST(DtypeTest, AWholeSubArrayIsOpaque) {
  const Dtype dtype = fields_of("('<f4', (2, 3))");
  EXPECT_EQ(dtype.kind, DtypeKind::kUnknown);
  EXPECT_EQ(dtype.itemsize, 24U);
  EXPECT_EQ(dtype.descr, "('<f4', (2, 3))");
  EXPECT_EQ(descr_repr(loadable(dtype)), "'<V24'");
  EXPECT_EQ(descr_json(fields_of("[('a', (('<f4', (3,)), 2))]")), R"([["a", "<f4", [2, 3]]])");
}

TEST(DtypeTest, ListsWhatAnAmbiguousDescrCouldBe) {
  EXPECT_EQ(candidates(parse_descr("<V1")).size(), 17U);
  EXPECT_EQ(candidates(parse_descr("|V1")).size(), 17U);
  EXPECT_THAT(candidates(parse_descr("|V2")), ElementsAre(ElementType::kBfloat16));
  EXPECT_THAT(candidates(parse_descr("<W4")),
              ElementsAre(ElementType::kComplex32, ElementType::kBcomplex32));
  EXPECT_THAT(candidates(parse_descr("<V4")),
              ElementsAre(ElementType::kComplex32, ElementType::kBcomplex32));
  for (const char* descr : {"|V4", "|V0", "|V3", "<V2", "<f4", "|u1", "<f1"}) {
    EXPECT_THAT(candidates(parse_descr(descr)), IsEmpty()) << descr;
  }
}

TEST(DtypeTest, ReadsTypesAsPeopleNameThem) {
  EXPECT_EQ(parse_type("float32").descr, "<f4");
  EXPECT_EQ(parse_type("<f4").descr, "<f4");
  EXPECT_EQ(parse_type("u1").descr, "|u1");
  EXPECT_EQ(parse_type("float8_e5m2").descr, "<V1");
  EXPECT_EQ(dtype_name(parse_type("float8_e5m2")), "float8_e5m2");
  EXPECT_EQ(parse_type("complex32").descr, "<V4");
  EXPECT_EQ(descr_repr(parse_type("[('a', '<f1'), ('b', '>i2', (2,))]")),
            "[('a', '<V1'), ('b', '>i2', (2,))]");
  EXPECT_EQ(descr_repr(parse_type("f4,i4")), "[('f0', '<f4'), ('f1', '<i4')]");
}

TEST(DtypeTest, AModuleMayStandBeforeATypesName) {
  EXPECT_EQ(dtype_name(parse_type("torch.float8_e4m3fn")), "float8_e4m3fn");
  EXPECT_EQ(dtype_name(parse_type("ml_dtypes.bfloat16")), "bfloat16");
  EXPECT_EQ(dtype_name(parse_type("jax.numpy.int4")), "int4");
  EXPECT_EQ(parse_type("numpy.float32").descr, "<f4");
  EXPECT_EQ(parse_type("np.int64").descr, "<i8");
  for (const char* const type : {"torch.", "torch.torch.float32", "torch.quint8", ".float32",
                                 "other.float32", "torch.[('a', '<f4')]"}) {
    EXPECT_THROW(parse_type(type), Error) << type;
  }
  EXPECT_THAT([] { parse_type("torch.qint8"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("'torch.qint8'")));
}

TEST(DtypeTest, RefusesTypesNobodyHas) {
  for (const char* type :
       {"", "float33", "f10", "e4", "2f4", "O", "object", "[('a', '|O')]", "["}) {
    EXPECT_THROW(parse_type(type), Error) << type;
  }
  EXPECT_THAT([] { parse_type("e4m3"); },
              ThrowsMessage<Error>(HasSubstr("unknown element type 'e4m3'")));
}

TEST(DtypeTest, ATypeCanBeToldWhereTheDescrStays) {
  const Dtype dtype = with_type(parse_descr("<V1"), "float8_e4m3fn");
  EXPECT_EQ(dtype.descr, "<V1");
  EXPECT_EQ(dtype.element, ElementType::kFloat8E4m3fn);
  EXPECT_EQ(dtype_name(dtype), "float8_e4m3fn");
  EXPECT_THAT(candidates(dtype), IsEmpty());
  EXPECT_EQ(with_type(parse_descr("|V4"), "float32").kind, DtypeKind::kFloat);
}

TEST(DtypeTest, ANameTakesTheByteOrderOfTheDescr) {
  EXPECT_EQ(with_type(parse_descr(">V4"), "complex32").order, ByteOrder::kBig);
  EXPECT_EQ(with_type(parse_descr(">i4"), "float32").order, ByteOrder::kBig);
  EXPECT_EQ(with_type(parse_descr(">i4"), "<f4").order, ByteOrder::kLittle);
  EXPECT_EQ(with_type(parse_descr("|V4"), ">f4").order, ByteOrder::kBig);
}

TEST(DtypeTest, ATypeOfAnotherSizeIsRefusedWithNumbers) {
  EXPECT_THAT([] { with_type(parse_descr("<V2"), "float8_e4m3fn"); },
              ThrowsMessage<Error>("an element of 'float8_e4m3fn' has 1 bytes, one of this array "
                                   "('<V2') 2; name a type of that size"));
  EXPECT_THROW(with_type(fields_of(R"([["a", "<V1"]])"), "int4"), Error);
  EXPECT_THROW(with_type(parse_descr("|O"), "<f8"), Error);
}

}  // namespace
}  // namespace npyfs
