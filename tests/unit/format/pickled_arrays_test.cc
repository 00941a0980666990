#include "npyfs/format/pickled_arrays.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Pieces of pickles. Each leaves one value on the stack.

std::string number(std::uint8_t value) { return "K"s + static_cast<char>(value); }

std::string text(std::string_view value) {
  return "\x8C"s + static_cast<char>(value.size()) + std::string(value);
}

std::string bytes(std::string_view value) {
  return "C"s + static_cast<char>(value.size()) + std::string(value);
}

std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) {
    all += item;
  }
  return all + "t";
}

std::string list(const std::vector<std::string>& items) {
  std::string all = "]" + tuple(items);
  all.back() = 'e';
  return all;
}

std::string dict(const std::vector<std::string>& keys_and_values) {
  std::string all = "}" + tuple(keys_and_values);
  all.back() = 'u';
  return all;
}

std::string call(const std::string& callable, const std::vector<std::string>& arguments) {
  return callable + tuple(arguments) + "R";
}

const std::string kNone = "N";
const std::string kTrue = "\x88";
const std::string kFalse = "\x89";
const std::string kMinusOne = "J\xFF\xFF\xFF\xFF";

std::string dtype(const std::string& type) {
  return call(global("numpy", "dtype"), {type, kFalse, kTrue});
}

std::string dtype(std::string_view type, std::string_view order) {
  return dtype(text(type)) +
         tuple({number(3), text(order), kNone, kNone, kNone, kMinusOne, kMinusOne, number(0)}) +
         "b";
}

std::string array(const std::string& type, const std::vector<std::string>& shape,
                  const std::string& data, bool fortran = false,
                  std::string_view core = "numpy.core.multiarray") {
  return call(global(core, "_reconstruct"),
              {global("numpy", "ndarray"), tuple({number(0)}), bytes("b")}) +
         tuple({number(1), tuple(shape), type, fortran ? kTrue : kFalse, data}) + "b";
}

std::string two_bytes() { return array(dtype("u1", "|"), {number(2)}, bytes("xy")); }

struct Found {
  SourcePtr source;
  PickledArrays all;

  std::string data(std::size_t i) const {
    const auto cache = std::make_shared<BlockCache>(std::uint64_t{4} << 20);
    const SourcePtr data = array_data(all.arrays[i], source, cache, cache->new_objects());
    return std::string(text_view(read_bytes(*data, 0, data->size())));
  }
  std::string descr(std::size_t i) const { return descr_repr(*all.arrays[i].dtype); }
  std::string path(std::size_t i) const {
    std::string path;
    for (const std::string& component : all.arrays[i].path) {
      path += "/" + component;
    }
    return path;
  }
  std::vector<std::string> paths() const {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < all.arrays.size(); ++i) {
      paths.push_back(path(i));
    }
    return paths;
  }
};

Found find(const std::string& pickle) {
  const SourcePtr source = memory(pickle + ".");
  return {source, find_arrays(read_pickle(*source, 0, source->size()))};
}

TEST(PickledArraysTest, FindsAnArrayUnderTheNamesOfEveryNumpy) {
  for (const char* core :
       {"numpy.core.multiarray", "numpy._core.multiarray", "numpy.core._internal"}) {
    const Found found =
        find(array(dtype("f4", "<"), {number(1), number(2)}, bytes("12345678"), false, core));
    ASSERT_THAT(found.all.arrays, SizeIs(1));
    EXPECT_THAT(found.all.notes, IsEmpty());
    EXPECT_THAT(found.all.arrays[0].path, IsEmpty());
    EXPECT_THAT(found.all.arrays[0].shape, ElementsAre(1, 2));
    EXPECT_FALSE(found.all.arrays[0].fortran_order);
    EXPECT_EQ(found.descr(0), "'<f4'");
    EXPECT_EQ(found.data(0), "12345678");
  }
}

TEST(PickledArraysTest, KeepsFortranOrderAndByteOrder) {
  const Found found =
      find(array(dtype("i2", ">"), {number(2), number(2)}, bytes("abcdefgh"), true));
  EXPECT_TRUE(found.all.arrays.at(0).fortran_order);
  EXPECT_EQ(found.descr(0), "'>i2'");
}

TEST(PickledArraysTest, FindsAnArrayOfProtocol5) {
  const Found found = find(call(
      global("numpy._core.numeric", "_frombuffer"),
      {"\x96\4\0\0\0\0\0\0\0abcd"s, dtype("u1", "|"), tuple({number(2), number(2)}), text("F")}));
  EXPECT_TRUE(found.all.arrays.at(0).fortran_order);
  EXPECT_EQ(found.data(0), "abcd");
}

TEST(PickledArraysTest, FindsTheArrayInASubclassThatAddsAttributes) {
  const std::string state =
      tuple({number(1), tuple({number(2)}), dtype("u1", "|"), kFalse, bytes("xy")});
  const std::string made =
      call(global("numpy._core.multiarray", "_reconstruct"),
           {global("astropy.units.quantity", "Quantity"), tuple({number(0)}), bytes("b")});
  const Found found = find(made + tuple({state, dict({text("unit"), text("m")})}) + "b");
  ASSERT_THAT(found.all.arrays, SizeIs(1));
  EXPECT_EQ(found.data(0), "xy");
}

TEST(PickledArraysTest, ShowsTheMaskOfAMaskedArray) {
  const auto masked = [](const std::string& type, const std::string& mask) {
    return dict({text("m"), call(global("numpy.ma.core", "_mareconstruct"), {}) +
                                tuple({number(1), tuple({number(1), number(2)}), type, kTrue,
                                       bytes("abcd"), mask, kNone}) +
                                "b"});
  };
  const Found found = find(masked(dtype("i2", "<"), bytes("\0\1"s)));
  EXPECT_THAT(found.paths(), ElementsAre("/m", "/m/mask"));
  EXPECT_EQ(found.data(0), "abcd");
  EXPECT_EQ(found.data(1), "\0\1"s);
  EXPECT_EQ(found.descr(1), "'|b1'");
  EXPECT_THAT(found.all.arrays[1].shape, ElementsAre(1, 2));
  EXPECT_TRUE(found.all.arrays[1].fortran_order);
  EXPECT_THAT(found.all.notes, IsEmpty());
  const std::string subclass = call(global("numpy.ma.core", "_mareconstruct"), {}) +
                               tuple({tuple({number(1), tuple({number(2)}), dtype("i1", "|"),
                                             kFalse, bytes("ab"), bytes("\0\1"s), kNone}),
                                      dict({})}) +
                               "b";
  EXPECT_THAT(find(subclass).paths(), ElementsAre("")) << "a subclass that adds attributes";
  for (const std::string& wrong : {kNone, bytes("\0")}) {
    const Found alone = find(masked(dtype("i2", "<"), wrong));
    EXPECT_THAT(alone.paths(), ElementsAre("/m"));
    EXPECT_THAT(alone.all.notes, ElementsAre("m: the mask of a masked array isn't shown"));
  }
}

TEST(PickledArraysTest, PutsTheAxesOfATransposedArrayInOrder) {
  const auto transposed = [](const std::string& order, const std::vector<std::string>& axes) {
    return call(global("numpy._core.numeric", "_frombuffer"),
                {bytes("abcdef"), dtype("u1", "|"), tuple({number(1), number(2), number(3)}),
                 text(order), tuple(axes)});
  };
  const auto found = find(transposed("K", {number(2), number(0), number(1)}));
  ASSERT_THAT(found.all.arrays, SizeIs(1));
  EXPECT_THAT(found.all.arrays[0].shape, ElementsAre(3, 1, 2));
  EXPECT_FALSE(found.all.arrays[0].fortran_order);
  EXPECT_EQ(found.data(0), "adbecf");
  for (const std::string& wrong :
       {transposed("K", {}), transposed("K", {number(2), number(0)}),
        transposed("K", {number(2), number(0), number(0)}),
        transposed("K", {number(3), number(0), number(1)}), transposed("Z", {})}) {
    const auto none = find(wrong);
    EXPECT_THAT(none.all.arrays, IsEmpty());
    EXPECT_THAT(none.all.notes, ElementsAre(testing::AnyOf(HasSubstr("order can't be told"),
                                                           HasSubstr("of a shape (1, 2, 3)"))));
  }
}

TEST(PickledArraysTest, DecodesTheTextThatProtocol2HasForBytes) {
  const std::string data = call(global("_codecs", "encode"), {text("\xC3\xBF"
                                                                   "a"),
                                                              text("latin1")});
  const Found found = find(array(dtype("u1", "|"), {number(2)}, data));
  EXPECT_EQ(found.data(0),
            "\xFF"
            "a");
}

TEST(PickledArraysTest, ReadsTheStringsOfPython2) {
  EXPECT_EQ(find(array(dtype("S'u1'\n"), {number(3)}, "S'\\x00\\n\\''\n")).data(0), "\0\n'"s);
  EXPECT_EQ(find(array(dtype("U\2u1"), {number(2)}, "U\2\xFF\1")).data(0), "\xFF\1");
}

TEST(PickledArraysTest, FindsScalars) {
  const Found found =
      find(call(global("numpy.core.multiarray", "scalar"), {dtype("f8", "<"), bytes("12345678")}));
  EXPECT_THAT(found.all.arrays.at(0).shape, IsEmpty());
  EXPECT_EQ(found.data(0), "12345678");
}

TEST(PickledArraysTest, KnowsTheTypesOfMlDtypes) {
  const Found found =
      find(tuple({array(dtype(global("ml_dtypes", "float8_e5m2")), {number(1)}, bytes("a")),
                  array(dtype(global("ml_dtypes", "bfloat16")) +
                            tuple({number(3), text(">"), kNone, kNone, kNone, number(2), number(2),
                                   number(64)}) +
                            "b",
                        {number(1)}, bytes("ab"))}));
  ASSERT_THAT(found.all.arrays, SizeIs(2));
  EXPECT_EQ(found.descr(0), "'<V1'");
  EXPECT_EQ(dtype_name(*found.all.arrays[0].dtype), "float8_e5m2");
  EXPECT_EQ(found.descr(1), "'>V2'");
  EXPECT_EQ(dtype_name(*found.all.arrays[1].dtype), "bfloat16");
  EXPECT_EQ(found.all.arrays[1].dtype->order, ByteOrder::kBig);
}

TEST(PickledArraysTest, KnowsUnitsOfTime) {
  const std::string type =
      dtype(text("M8")) +
      tuple({number(4), text("<"), kNone, kNone, kNone, kMinusOne, kMinusOne, number(0),
             tuple({dict({}), tuple({bytes("s"), number(25), number(1), number(1)})})}) +
      "b";
  EXPECT_EQ(find(array(type, {number(1)}, bytes("12345678"))).descr(0), "'<M8[25s]'");
}

std::string struct_dtype(const std::string& names, const std::string& fields,
                         std::uint8_t itemsize) {
  return dtype(text("V99")) +
         tuple({number(3), text("|"), kNone, names, fields, number(itemsize), number(1),
                number(16)}) +
         "b";
}

TEST(PickledArraysTest, KnowsFieldsWithGapsTitlesAndSubArrays) {
  const std::string pair =
      dtype(text("V4")) +
      tuple({number(3), text("|"), tuple({dtype("i2", ">"), tuple({number(2)})}), kNone, kNone,
             number(4), number(1), number(0)}) +
      "b";
  const std::string type = struct_dtype(
      tuple({text("a"), text("b")}),
      dict({text("a"), tuple({dtype("i1", "|"), number(1)}), text("b"),
            tuple({pair, number(2), text("T")}), text("T"), tuple({pair, number(2), text("T")})}),
      8);
  const Found found = find(array(type, {number(1)}, bytes("12345678")));
  ASSERT_THAT(found.all.arrays, SizeIs(1)) << found.all.notes.at(0);
  EXPECT_EQ(found.descr(0), "[('', '|V1'), ('a', '|i1'), (('T', 'b'), '>i2', (2,)), ('', '|V2')]");
}

TEST(PickledArraysTest, OfTwoDescriptionsOfAFieldTheLastCounts) {
  const std::string type = struct_dtype(tuple({text("a")}),
                                        dict({text("a"), tuple({dtype("i1", "|"), number(0)}),
                                              text("a"), tuple({dtype("u1", "|"), number(0)})}),
                                        1);
  EXPECT_EQ(find(array(type, {number(1)}, bytes("x"))).descr(0), "[('a', '|u1')]");
}

TEST(PickledArraysTest, NamesArraysByKeysIndicesAndAttributes) {
  const std::string object = global("m", "C") + ")\x81" + dict({text("w"), two_bytes()}) + "b";
  const Found found = find(dict(
      {text("a/b"), list({two_bytes(), tuple({two_bytes()})}), number(7), two_bytes(), kNone,
       two_bytes(), kTrue, two_bytes(), "G\x3F\xF8\0\0\0\0\0\0"s, two_bytes(),
       tuple({number(1), text("k")}), two_bytes(), bytes("b"), two_bytes(), text("o"), object}));
  EXPECT_THAT(found.paths(), ElementsAre("/a/b/0", "/a/b/1/0", "/7", "/None", "/True", "/1.5",
                                         "/(1, 'k')", "/b'b'", "/o/w"));
  EXPECT_THAT(found.all.arrays[0].path, ElementsAre("a/b", "0"));
}

TEST(PickledArraysTest, NamesArraysByTheValueOfNumpyScalars) {
  const auto scalar = [](std::string_view type, std::string_view order, std::string_view data) {
    return call(global("numpy._core.multiarray", "scalar"), {dtype(type, order), bytes(data)});
  };
  std::vector<std::string> items;
  for (const std::string& key :
       {scalar("i8", "<", "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), scalar("i2", ">", "\x01\x02"),
        scalar("u8", "<", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), scalar("b1", "|", "\x01"),
        scalar("f4", "<", "\xCD\xCC\xCC\x3D"), scalar("U2", "<", "\xE9\0\0\0\0\0\0\0"s),
        scalar("U1", ">", "\0\0\0k"s), scalar("S3", "|", "ab\0"s),
        tuple({scalar("i1", "|", "\x05"), scalar("U1", "<", "k\0\0\0"s)}),
        scalar("c8", "<", "12345678"), scalar("i8", "<", "123"), scalar("U1", "<", "\0\0\0\x7F"s),
        scalar("i9", "<", "123456789"), scalar("f2", "<", "12")}) {
    items.push_back(key);
    items.push_back(two_bytes());
  }
  EXPECT_THAT(find(dict(items)).paths(),
              ElementsAre("/-2", "/258", "/18446744073709551615", "/True", "/0.1", "/\xC3\xA9",
                          "/k", "/b'ab'", "/(5, 'k')", "/item 9", "/item 10", "/item 11",
                          "/item 12", "/item 13"));
}

TEST(PickledArraysTest, LooksIntoOrderedDictsAndOtherObjects) {
  const std::string ordered =
      call(global("collections", "OrderedDict"), {}) + text("w") + two_bytes() + "s";
  const std::string slots =
      global("m", "S") + ")\x81" + tuple({kNone, dict({text("p"), two_bytes()})}) + "b";
  const std::string old =
      call(global("copy_reg", "_reconstructor"),
           {global("m", "NT"), global("__builtin__", "tuple"), tuple({two_bytes()})});
  EXPECT_THAT(find(list({ordered, slots, old})).paths(), ElementsAre("/0/w", "/1/p", "/2/0"));
}

TEST(PickledArraysTest, NamesTheElementsOfAnObjectArrayByTheirPlace) {
  const Found found = find(array(dtype("O8", "|"), {number(2), number(2)},
                                 list({two_bytes(), kNone, kNone, two_bytes()})));
  EXPECT_THAT(found.paths(), ElementsAre("/0/0", "/1/1"));
  EXPECT_THAT(find(array(dtype("O8", "|"), {}, list({dict({text("k"), two_bytes()})}))).paths(),
              ElementsAre("/k"));
}

TEST(PickledArraysTest, NamesTheObjectsOfFieldsByPlaceAndField) {
  const std::string type = struct_dtype(tuple({text("w"), text("n")}),
                                        dict({text("w"), tuple({dtype("O8", "|"), number(4)}),
                                              text("n"), tuple({dtype("i4", "<"), number(0)})}),
                                        12);
  const Found found =
      find(array(type, {number(1), number(2)},
                 list({tuple({two_bytes(), number(1)}), tuple({kNone, number(1)})})));
  EXPECT_THAT(found.paths(), ElementsAre("/0/0/w"));
  EXPECT_THAT(found.all.notes,
              ElementsAre("of fields with objects only the arrays in them are shown"));
  EXPECT_THAT(find(array(type, {number(2)}, list({two_bytes(), tuple({two_bytes()})}))).paths(),
              ElementsAre("/0", "/1/0"))
      << "elements that aren't as the type says";
}

TEST(PickledArraysTest, ShowsASharedArrayAtEachOfItsPlaces) {
  const Found found = find(two_bytes() + "q\0"s + list({"h\0"s, "h\0"s}) + "\x86");
  EXPECT_THAT(found.paths(), ElementsAre("/0", "/1/0", "/1/1"));
}

TEST(PickledArraysTest, SaysOfSharedObjectsWithArraysAloneWhereTheyAreShown) {
  const std::string plain = tuple({number(1), list({text("a")})}) + "q\1";
  const std::string holder = list({two_bytes()}) + "q\2";
  const std::string object = call(global("m", "C"), {}) + "q\3";
  const Found found = find(list({plain, holder, object, "h\1", "h\2", "h\3", "h\1"}));
  EXPECT_THAT(found.paths(), ElementsAre("/1/0"));
  EXPECT_THAT(found.all.notes,
              ElementsAre("2: an object of m.C", "4: also stands elsewhere, and is shown there"));
}

TEST(PickledArraysTest, MakesNotesOfWhatItDoesNotShow) {
  const Found found = find(dict({text("run"), call(global("os", "system"), {text("touch /tmp/x")}),
                                 text("kept"), number(1) + "Q", text("w"), two_bytes()}));
  EXPECT_THAT(found.paths(), ElementsAre("/w"));
  EXPECT_THAT(found.all.notes, ElementsAre("run: an object of os.system", HasSubstr("kept: ")));
}

TEST(PickledArraysTest, MakesNotesOfObjectsWhatTheyHoldOrNot) {
  const std::string evaluated = call(global("__builtin__", "eval"), {text("open('x', 'w')")});
  const std::string trainer = global("m", "Trainer") + ")\x81" +
                              dict({text("w"), two_bytes(), text("lr"), number(1)}) + "b";
  const std::string ordered = call(global("collections", "OrderedDict"), {});
  const Found found = find(list({evaluated, trainer, ordered, two_bytes()}));
  EXPECT_THAT(found.paths(), ElementsAre("/1/w", "/3"));
  EXPECT_THAT(found.all.notes,
              ElementsAre("0: an object of __builtin__.eval",
                          "1: an object of m.Trainer; the arrays in it are shown"));
}

TEST(PickledArraysTest, MakesANoteOfAnArrayThatCanNotBe) {
  const std::string byte_type = dtype("u1", "|");
  const auto note = [](const std::string& pickle) {
    const Found found = find(list({pickle, two_bytes()}));
    EXPECT_THAT(found.paths(), ElementsAre("/1"));
    EXPECT_THAT(found.all.notes, ElementsAre(EndsWith("; load it with Python and np.save it")));
    return found.all.notes.empty() ? "" : found.all.notes[0];
  };
  EXPECT_THAT(note(array(byte_type, {number(3)}, bytes("xy"))),
              HasSubstr("0: an array of 3 bytes"));
  EXPECT_THAT(note(array(byte_type, {number(2)}, text("xy"))), HasSubstr("no bytes"));
  EXPECT_THAT(note(array(byte_type, {kMinusOne}, bytes("xy"))), HasSubstr("no length"));
  EXPECT_THAT(note(array(number(1), {number(2)}, bytes("xy"))), HasSubstr("no numpy.dtype"));
  EXPECT_THAT(note(array(dtype("q9", "<"), {number(2)}, bytes("xy"))),
              HasSubstr("unknown element type"));
  EXPECT_THAT(note(array(byte_type, std::vector<std::string>(65, number(1)), bytes("x"))),
              HasSubstr("65 axes"));
  EXPECT_THAT(note(array(byte_type, std::vector<std::string>(8, "J\xFF\xFF\xFF\x7F"), bytes("x"))),
              HasSubstr("2147483647"));
  EXPECT_THAT(note(call(global("numpy.core.multiarray", "_reconstruct"), {})),
              HasSubstr("too little"));
  EXPECT_THAT(note(array(dtype("O8", "|"), {number(3)}, list({kNone}))), HasSubstr("objects"));
  EXPECT_THAT(note(array(struct_dtype(tuple({text("a")}),
                                      dict({text("a"), tuple({dtype("f8", "<"), number(4)})}), 8),
                         {number(1)}, bytes("12345678"))),
              HasSubstr("run past"));
}

TEST(PickledArraysTest, ATypeMayNotContainItself) {
  const std::string type = dtype(text("V1")) + "q\0"s +
                           tuple({number(3), text("|"), tuple({"h\0"s, number(1)}), kNone, kNone,
                                  number(1), number(1), number(0)}) +
                           "b";
  EXPECT_THAT(find(array(type, {number(1)}, bytes("a"))).all.notes,
              ElementsAre(HasSubstr("nested")));
}

TEST(PickledArraysTest, ATypeMayNotHaveMoreFieldsThanMemory) {
  // Each type has the one before twice: 2^40 fields.
  std::string type = dtype("u1", "|") + "q\0"s;
  for (int i = 0; i < 40; ++i) {
    type +=
        "0" +
        struct_dtype(
            tuple({text("a"), text("b")}),
            dict({text("a"), tuple({"h\0"s, number(0)}), text("b"), tuple({"h\0"s, number(0)})}),
            0) +
        "q\0"s;
  }
  EXPECT_THAT(find(type + "0" + array("h\0"s, {number(0)}, bytes(""))).all.notes, SizeIs(1));
}

TEST(PickledArraysTest, BillionsOfPathsToAnArrayAreFew) {
  std::string laughs = two_bytes() + "q\0"s;
  for (int i = 0; i < 60; ++i) {
    laughs += "0](";
    for (int k = 0; k < 10; ++k) {
      laughs += "h\0"s;
    }
    laughs += "eq\0"s;
  }
  const Found found = find(laughs);
  EXPECT_EQ(found.all.arrays.size(), 10);
  EXPECT_THAT(found.all.notes.size(), testing::Le(PickledArrays::kMostNotes + 1));
}

TEST(PickledArraysTest, StopsAtItsLimits) {
  std::string nested = two_bytes();
  for (int i = 0; i < 200; ++i) {
    nested += "\x85";
  }
  EXPECT_THAT(find(nested).all.notes,
              ElementsAre(HasSubstr("100 objects deep; save it by itself")));
  const std::string key = "X\0\x10\0\0"s + std::string(4096, 'k');
  std::string wide = two_bytes() + "q\0"s + "0}" + key + "](";
  for (int i = 0; i < 100000; ++i) {
    wide += "h\0"s;
  }
  const Found found = find(wide + "es");
  EXPECT_LE(found.all.arrays.size(), PickledArrays::kMostPathBytes / 4096);
  EXPECT_THAT(found.all.notes.back(), HasSubstr("beyond"));
}

TEST(PickledArraysTest, ACycleEnds) {
  const Found found = find("]q\0("s + two_bytes() + "h\0e"s);
  EXPECT_THAT(found.paths(), ElementsAre("/0"));
  EXPECT_THAT(found.all.notes, ElementsAre(HasSubstr("1: also stands elsewhere")));
}

}  // namespace
}  // namespace npyfs
