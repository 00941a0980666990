#include "npyfs/format/pickle.h"

#include <algorithm>
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
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

Pickle read(const std::string& bytes) {
  const SourcePtr source = memory(bytes);
  return read_pickle(*source, 0, source->size());
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) {
    bytes.push_back(static_cast<char>(value >> 8 * i));
  }
  return bytes;
}

std::string repeat(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

// The value as Python would print it, more or less; shared values are printed each time.
std::string print(const Pickle& pickle, PickleId id) {
  const auto list = [&](const char* open, const char* close, auto items) {
    std::string text = open;
    for (const PickleId item : items) {
      text += print(pickle, item) + ",";
    }
    return text + close;
  };
  switch (pickle.kind(id)) {
    case PickleKind::kNone:
      return "None";
    case PickleKind::kBool:
      return pickle.boolean(id) ? "True" : "False";
    case PickleKind::kInteger:
      return std::to_string(pickle.integer(id));
    case PickleKind::kBigInteger:
      return std::string(pickle.text(id).value_or("huge"));
    case PickleKind::kReal:
      return text_of(pickle.real(id));
    case PickleKind::kText:
      return "'" + std::string(pickle.text(id).value_or("long")) + "'";
    case PickleKind::kBytes:
      return "b'" + std::string(pickle.text(id).value_or("long")) + "'";
    case PickleKind::kByteString:
      return "s'" + std::string(pickle.text(id).value_or("long")) + "'";
    case PickleKind::kTuple:
      return list("(", ")", pickle.items(id));
    case PickleKind::kList:
      return list("[", "]", pickle.items(id));
    case PickleKind::kDict:
      return list("{", "}", pickle.items(id));
    case PickleKind::kSet:
      return list("set(", ")", pickle.items(id));
    case PickleKind::kFrozenSet:
      return list("frozenset(", ")", pickle.items(id));
    case PickleKind::kGlobal:
      return std::string(pickle.module(id)) + "." + std::string(pickle.name(id));
    case PickleKind::kPersistent:
      return "kept " + print(pickle, pickle.persistent_id(id));
    case PickleKind::kCall:
      break;
  }
  const PickleCall& call = pickle.call(id);
  std::string text = print(pickle, call.callable) + print(pickle, call.arguments);
  for (const PickleId part : {call.keywords, call.state, call.list_items, call.dict_items}) {
    text += part == kNoPickle ? "" : "/" + print(pickle, part);
  }
  return text;
}

std::string printed(const std::string& bytes) {
  const Pickle pickle = read(bytes);
  return print(pickle, pickle.root());
}

TEST(PickleTest, ReadsNumbersOfEveryProtocol) {
  EXPECT_EQ(printed("N."), "None");
  EXPECT_EQ(printed("\x88."), "True");
  EXPECT_EQ(printed("\x89."), "False");
  EXPECT_EQ(printed("I01\n."), "True");
  EXPECT_EQ(printed("I00\n."), "False");
  EXPECT_EQ(printed("I-12\n."), "-12");
  EXPECT_EQ(printed("L12345L\n."), "12345");
  EXPECT_EQ(printed("K\xFF."), "255");
  EXPECT_EQ(printed("M\x34\x12."), "4660");
  EXPECT_EQ(printed("J\xFE\xFF\xFF\xFF."), "-2");
  EXPECT_EQ(printed("F1.5\n."), "1.5");
  EXPECT_EQ(printed("F-inf\n."), "-inf");
  EXPECT_EQ(printed("G\x3F\xF8\0\0\0\0\0\0."s), "1.5");
}

TEST(PickleTest, ReadsIntegersOfAnyLength) {
  EXPECT_EQ(printed("\x8A\0."s), "0");
  EXPECT_EQ(printed("\x8A\x01\xFF."), "-1");
  EXPECT_EQ(printed("\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F."), "9223372036854775807");
  EXPECT_EQ(printed("\x8A\x09\0\0\0\0\0\0\0\x80\0."s), "9223372036854775808");
  EXPECT_EQ(printed("\x8A\x09\0\0\0\0\0\0\0\0\xFF."s), "-18446744073709551616");
  EXPECT_EQ(printed("\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19."),
            "119547037146038801333356");
  EXPECT_EQ(printed("I99999999999999999999\n."), "99999999999999999999");
  EXPECT_EQ(printed("\x8B" + little_endian(1000, 4) + std::string(1000, '\1') + "."), "huge");
}

TEST(PickleTest, ReadsStringsOfEveryProtocol) {
  EXPECT_EQ(printed("X\x02\0\0\0\xC3\xA9."s), "'\xC3\xA9'");
  EXPECT_EQ(printed("\x8C\x01z."), "'z'");
  EXPECT_EQ(printed("\x8D" + little_endian(1, 8) + "z."), "'z'");
  EXPECT_EQ(printed("Va\\u4e2d\\u005c\xE9\n."), "'a\xE4\xB8\xAD\\\xC3\xA9'");
  EXPECT_EQ(printed("S'a\\x00\\n\\'\\\\\\7b'\n."), "s'a\0\n'\\\7b'"s);
  EXPECT_EQ(printed("T\x02\0\0\0ab."s), "s'ab'");
  EXPECT_EQ(printed("U\x02\xFF\x01."), "s'\xFF\x01'");
  EXPECT_EQ(printed("C\x02zz."), "b'zz'");
  EXPECT_EQ(printed("B\x02\0\0\0zz."s), "b'zz'");
  EXPECT_EQ(printed("\x8E" + little_endian(2, 8) + "zz."), "b'zz'");
  EXPECT_EQ(printed("\x96" + little_endian(2, 8) + "zz."), "b'zz'");
}

TEST(PickleTest, LeavesLongStringsWhereTheyAre) {
  const std::string payload(100000, '\x01');
  const Pickle pickle = read("B" + little_endian(payload.size(), 4) + payload + ".");
  EXPECT_FALSE(pickle.text(pickle.root()));
  EXPECT_EQ(pickle.range(pickle.root()).offset, 5);
  EXPECT_EQ(pickle.range(pickle.root()).length, payload.size());
  const Pickle escaped = read("V" + repeat("\\u005cxyz", 1000) + "\n.");
  EXPECT_FALSE(escaped.text(escaped.root()));
  EXPECT_EQ(escaped.range(escaped.root()).length, 9000);
  EXPECT_EQ(escaped.range(escaped.root()).form, ByteForm::kUnicodeEscape);
}

class Counting final : public Source {
 public:
  explicit Counting(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    read_bytes += dst.size();
    ++reads;
    std::ranges::copy(bytes_of(bytes_).subspan(offset, dst.size()), dst.begin());
  }
  mutable std::uint64_t read_bytes = 0;
  mutable std::uint64_t reads = 0;

 private:
  std::string bytes_;
};

TEST(PickleTest, PassesOverLongStringsWithoutReadingThem) {
  const Counting source(
      "(" + repeat("B" + little_endian(1 << 20, 4) + std::string(1 << 20, 'x'), 4) + "t.");
  read_pickle(source, 0, source.size());
  EXPECT_LE(source.read_bytes, 5u * (8 << 10));
}

TEST(PickleTest, ReadsManyShortLinesAtOnce) {
  const Counting source("(" + repeat("S'a\\x62'\nVb\n", 1000) + "t.");
  const Pickle pickle = read_pickle(source, 0, source.size());
  EXPECT_EQ(pickle.text(pickle.items(pickle.root()).front()), "ab");
  EXPECT_LE(source.reads, 3u);
}

TEST(PickleTest, ReadsLinesOfAnyLength) {
  for (const std::size_t length : {0, 1, 4092, 4093, 4094, 4095, 4096, 4097, 4098, 9000, 100000}) {
    const std::string payload(length, 'x');
    const bool is_short = length <= Pickle::kLongestCopy;
    const Pickle quoted = read("S'" + payload + "'\n.");
    EXPECT_EQ(quoted.text(quoted.root()), is_short ? std::optional(payload) : std::nullopt);
    EXPECT_EQ(quoted.range(quoted.root()).offset, 2);
    EXPECT_EQ(quoted.range(quoted.root()).length, length);
    const Pickle bare = read("V" + payload + "\n.");
    EXPECT_EQ(bare.text(bare.root()), is_short ? std::optional(payload) : std::nullopt);
    EXPECT_EQ(bare.range(bare.root()).length, length);
    EXPECT_EQ(bare.end(), length + 3);
  }
}

TEST(PickleTest, ReadsContainers) {
  EXPECT_EQ(printed(")."), "()");
  EXPECT_EQ(printed("K\1\x85."), "(1,)");
  EXPECT_EQ(printed("K\1K\2\x86."), "(1,2,)");
  EXPECT_EQ(printed("K\1K\2K\3\x87."), "(1,2,3,)");
  EXPECT_EQ(printed("(K\1K\2K\3K\4t."), "(1,2,3,4,)");
  EXPECT_EQ(printed("(t."), "()");
  EXPECT_EQ(printed("]."), "[]");
  EXPECT_EQ(printed("(K\1K\2l."), "[1,2,]");
  EXPECT_EQ(printed("]K\1a(K\2K\3e."), "[1,2,3,]");
  EXPECT_EQ(printed("}."), "{}");
  EXPECT_EQ(printed("(K\1K\2d."), "{1,2,}");
  EXPECT_EQ(printed("}K\1K\2s(K\3K\4u."), "{1,2,3,4,}");
  EXPECT_EQ(printed("\x8F(K\1K\2\x90."), "set(1,2,)");
  EXPECT_EQ(printed("(K\1K\2\x91."), "frozenset(1,2,)");
}

TEST(PickleTest, KeepsTheOrderOfContainersThatGrowInTurn) {
  // a = [[1, 3, 5], [2, 4]], its lists filled alternately
  EXPECT_EQ(printed("]q\0]q\1K\1ah\0K\2ah\1K\3ah\0K\4a0h\1K\5a00h\1h\0\x86."s),
            "([1,3,5,],[2,4,],)");
}

TEST(PickleTest, KeepsCallsAsValues) {
  EXPECT_EQ(printed("cos\nsystem\n."), "os.system");
  EXPECT_EQ(printed("cos\nsystem\n(S'echo'\ntR."), "os.system(s'echo',)");
  EXPECT_EQ(printed("\x8C\2os\x8C\6system\x93."), "os.system");
  EXPECT_EQ(printed("cm\nC\n)\x81}K\1K\2sb."), "m.C()/{1,2,}");
  EXPECT_EQ(printed("cm\nC\n)}\x92."), "m.C()/{}");
  EXPECT_EQ(printed("(K\1im\nC\n."), "m.C(1,)");
  EXPECT_EQ(printed("(cm\nC\nK\1K\2o."), "m.C(1,2,)");
  EXPECT_EQ(printed("cm\nD\n)RK\1K\2s."), "m.D()/{1,2,}");
  EXPECT_EQ(printed("cm\nL\n)RK\1a(K\2K\3e."), "m.L()/[1,2,3,]");
  EXPECT_EQ(printed("Pkey\n."), "kept 'key'");
  EXPECT_EQ(printed("K\7Q."), "kept 7");
  EXPECT_EQ(printed("K\7cm\nf\nK\1b0."), "7");
}

TEST(PickleTest, SharesWhatIsUsedTwice) {
  const Pickle pickle = read("]q\0h\0h\0\x87."s);
  const auto items = pickle.items(pickle.root());
  EXPECT_THAT(items, ElementsAre(items[0], items[0], items[0]));
  const Pickle cycle = read("]q\0h\0a."s);
  EXPECT_THAT(cycle.items(cycle.root()), ElementsAre(cycle.root()));
}

TEST(PickleTest, ReadsTheMemoOfEveryProtocol) {
  EXPECT_EQ(printed("K\5p12\n0g12\n."), "5");
  EXPECT_EQ(printed("K\5r\0\1\0\0"
                    "0j\0\1\0\0."s),
            "5");
  EXPECT_EQ(printed("K\5\x94K\6\x94h\0h\1\x86."s), "(5,6,)");
}

TEST(PickleTest, PassesOverFramesAndProtocol) {
  EXPECT_EQ(printed("\x80\4\x95\3\0\0\0\0\0\0\0K\5."s), "5");
  EXPECT_THAT([] { read("\x80\6N."); },
              ThrowsMessage<Error>(HasSubstr(
                  "protocol 6; the highest known is 5: damaged, or written by a Python newer")));
}

TEST(PickleTest, EndsBehindItsStop) {
  const SourcePtr source = memory("xxN.K\5.yy"s);
  const Pickle first = read_pickle(*source, 2, source->size());
  EXPECT_EQ(first.end(), 4);
  const Pickle second = read_pickle(*source, first.end(), source->size());
  EXPECT_EQ(print(second, second.root()), "5");
  EXPECT_EQ(second.end(), 7);
}

TEST(PickleTest, PopsAsPythonDoes) {
  EXPECT_EQ(printed("K\1K\2"
                    "0."),
            "1");
  EXPECT_EQ(printed("K\1(0."), "1");
  EXPECT_EQ(printed("K\1(K\2K\3"
                    "1."),
            "1");
  EXPECT_EQ(printed("K\1"
                    "2\x86."),
            "(1,1,)");
}

class MalformedTest : public testing::TestWithParam<std::pair<std::string, const char*>> {};

TEST_P(MalformedTest, SaysWhatAndWhere) {
  const std::string bytes = GetParam().first;
  const char* const message = GetParam().second;
  const bool is_unsupported = bytes.find_first_of("\x82\x97\x98") != std::string::npos;
  EXPECT_THAT([&] { read(bytes); },
              ThrowsMessage<Error>(AllOf(
                  HasSubstr(message),
                  ContainsRegex(is_unsupported ? "; (load it with Python|write it with pickle.dump)"
                                               : "; damaged, or no pickle: fetch or write it "
                                                 "again$"))));
}

INSTANTIATE_TEST_SUITE_P(
    Pickle, MalformedTest,
    testing::Values(
        std::pair(""s, "at 0: the pickle ends"), std::pair("K"s, "instruction 'K' at 0"),
        std::pair("."s, "nothing on the stack"), std::pair("N\x01."s, "0x01 at 1: no such"),
        std::pair("t."s, "no mark"), std::pair("(."s, "nothing on the stack"),
        std::pair("(K\1\x86."s, "nothing on the stack"),
        std::pair("h\0."s, "nothing at 0 of the memo"),
        std::pair("gx\n."s, "no number of the memo"), std::pair("Ix\n."s, "no integer"),
        std::pair("I\n."s, "no integer"), std::pair("F1.5x\n."s, "no number"),
        std::pair("X\xFF\xFF\xFF\xFF."s, "4294967295 bytes run past the 1"),
        std::pair("\x8E\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF."s, "run past"),
        std::pair("\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F."s, "run past"),
        std::pair("\x8B\xFF\xFF\xFF\xFF."s, "run past"), std::pair("Sabc\n."s, "without quotes"),
        std::pair("S\n."s, "without quotes"), std::pair("S'\\x1'\n."s, "broken escape"),
        std::pair("V\\u12\n."s, "broken escape"), std::pair("Vabc"s, "ends within a line"),
        std::pair("cos"s, "no end of line"), std::pair("K\1K\2a."s, "takes none"),
        std::pair("K\1K\2K\3s."s, "takes none"), std::pair("}(K\1u."s, "without a value"),
        std::pair("(o."s, "without a class"), std::pair("K\1K\2\x93."s, "a global's name"),
        std::pair("\x82\1."s, "extension registry"), std::pair("\x97."s, "isn't in the pickle"),
        std::pair("K\1\x98."s, "isn't in the pickle")));

auto beyond(const char* limit) {
  return ThrowsMessage<Error>(AllOf(
      HasSubstr(limit), HasSubstr("; load it with Python and save its arrays with np.savez")));
}

TEST(PickleLimitsTest, HoldTheStack) {
  EXPECT_THAT([] { read(std::string(Pickle::kMostStack + 1, 'N') + "."); }, beyond("on the stack"));
  EXPECT_THAT([] { read(std::string(Pickle::kMostStack + 1, '(') + "."); }, beyond("marks"));
}

TEST(PickleLimitsTest, HoldTheMemo) {
  EXPECT_THAT([] { read("Nr\xFF\xFF\xFF\x7F."); }, beyond("memo number"));
  EXPECT_EQ(printed("Nr\xFF\xFF\x3F\0."s), "None");
}

TEST(PickleLimitsTest, HoldValuesItemsAndCopies) {
  EXPECT_THAT([] { read("(" + repeat("]0", Pickle::kMostValues)); }, beyond("values"));
  EXPECT_THAT(
      [] {
        read("](" + std::string(1000000, 'N') + repeat("tq\0"s, 1) + "0" +
             repeat("(" + std::string(1000000, 'N') + "t0", 8));
      },
      beyond("items in containers"));
  EXPECT_THAT([] { read(repeat("X\0\x10\0\0"s + std::string(4096, 'x') + "0", 17000)); },
              beyond("short strings"));
}

TEST(PickleLimitsTest, DontMindDeepNestingOrSharing) {
  const Pickle deep = read(std::string(1000000, ']') + std::string(999999, 'a') + ".");
  EXPECT_THAT(deep.items(deep.root()), SizeIs(1));
  // Ten lists of ten times the one before: 10^100 leaves, 100 lists.
  std::string laughs = "]q\0"s;
  for (int i = 0; i < 100; ++i) {
    laughs += "0](" + repeat("h\0"s, 10) + "eq\0"s;
  }
  EXPECT_LE(read(laughs + ".").count(), 110);
}

TEST(PickleLimitsTest, RefuseARangeOutsideTheSource) {
  const SourcePtr source = memory("N."s);
  EXPECT_THROW(read_pickle(*source, 3, 3), Error);
  EXPECT_THROW(read_pickle(*source, 0, 3), Error);
  EXPECT_THROW(read_pickle(*source, 2, 1), Error);
}

}  // namespace
}  // namespace npyfs
