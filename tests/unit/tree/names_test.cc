#include "npyfs/tree/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"

namespace npyfs {
namespace {

using namespace std::string_view_literals;
using testing::ElementsAre;

// The path of an array's key.
std::string path(std::string_view key, std::optional<char> split = std::nullopt) {
  std::string path;
  for (const std::string& component : path_components(key, split, kMostStemBytes)) {
    path += path.empty() ? "" : "/";
    path += component;
  }
  return path;
}

TEST(PathComponentsTest, SplitAtSlashesAndDropWhatIsEmptyOrADot) {
  EXPECT_THAT(path_components("a/b/c", std::nullopt, kMostStemBytes), ElementsAre("a", "b", "c"));
  EXPECT_EQ(path("/abs"), "abs");
  EXPECT_EQ(path("m//weights"), "m/weights");
  EXPECT_EQ(path("./a/./b/"), "a/b");
}

TEST(PathComponentsTest, NothingLeftIsAPercentSign) {
  for (const char* key : {"", "/", ".", "./", "//./"}) {
    EXPECT_EQ(path(key), "%") << key;
  }
}

TEST(PathComponentsTest, NothingLeadsUp) {
  EXPECT_EQ(path("../evil"), "%2E%2E/evil");
  EXPECT_EQ(path("a/../../b"), "a/%2E%2E/%2E%2E/b");
  EXPECT_EQ(path(".."), "%2E%2E");
  EXPECT_EQ(path("..."), "...");
  EXPECT_EQ(path("..a"), "..a");
}

TEST(PathComponentsTest, ControlBytesAndBytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(path("tab\tnewline\nbell\x07"
                 "del\x7f"),
            "tab%09newline%0Abell%07del%7F");
  EXPECT_EQ(path("nul\0byte"sv), "nul%00byte");
  EXPECT_EQ(path("caf\xe9"), "caf%E9");
  EXPECT_EQ(path("żółw/🐢"), "żółw/🐢");
}

TEST(PathComponentsTest, APercentSignIsEscapedOnlyWhereItWouldLookLikeAnEscape) {
  EXPECT_EQ(path("100%"), "100%");
  EXPECT_EQ(path("5%z1"), "5%z1");
  EXPECT_EQ(path("a%4"), "a%4");
  EXPECT_EQ(path("a%41b"), "a%2541b");
  EXPECT_EQ(path("%2E%2e"), "%252E%252e");
  EXPECT_EQ(path("%2Enpyfs"), "%252Enpyfs");
}

TEST(PathComponentsTest, OurOwnDirectoryIsNobodyElses) {
  EXPECT_EQ(path(".npyfs"), "%2Enpyfs");
  EXPECT_EQ(path(".npyfs/manifest.json"), "%2Enpyfs/manifest.json");
  EXPECT_EQ(path("x.npyfs"), "x.npyfs");
}

TEST(PathComponentsTest, OtherCharactersStayAsTheyAre) {
  EXPECT_EQ(path("x\\y"), "x\\y");
  EXPECT_EQ(path("layer.0.attn.W_q"), "layer.0.attn.W_q");
  EXPECT_EQ(path("-rf *~ $HOME"), "-rf *~ $HOME");
}

TEST(PathComponentsTest, SplitMakesDirectoriesOfDots) {
  EXPECT_EQ(path("layer.0.attn.W_q", '.'), "layer/0/attn/W_q");
  EXPECT_EQ(path("a..b", '.'), "a/b");
  EXPECT_EQ(path("..", '.'), "%");
  EXPECT_EQ(path("a/b.c", '.'), "a/b/c");
  EXPECT_EQ(path("a:b.c", ':'), "a/b.c");
}

TEST(PathComponentsTest, ALongLastComponentIsCutSoThatEverySiblingFits) {
  const std::string longest(243, 'x');
  EXPECT_EQ(path(longest), longest);
  const std::string longer(244, 'x');
  EXPECT_EQ(path(longer), text_of(std::string(226, 'x'), '~', sha256_hex(longer, 16)));
  for (std::size_t i = 0; i < kViews; ++i) {
    EXPECT_LE(path(longer).size() + suffix(static_cast<View>(i)).size(), kMostNameBytes);
  }
}

TEST(PathComponentsTest, ItIsCutAtACharacter) {
  std::string key;
  for (int i = 0; i < 150; ++i) {
    key += "ż";
  }
  const std::string cut = path("a" + key);
  EXPECT_EQ(cut.size(), 225U + 17);
  EXPECT_TRUE(is_utf8(cut));
}

TEST(PathComponentsTest, DirectoriesAndPlainFilesAreCutOnlyAboveANamesLimit) {
  const std::string directory(255, 'd');
  EXPECT_EQ(path(directory + "/x"), directory + "/x");
  EXPECT_EQ(path(directory + "d/x").size(), 243U + 2);
  EXPECT_THAT(path_components(directory, std::nullopt, kMostNameBytes), ElementsAre(directory));
}

TEST(PathComponentsTest, LongNamesThatDifferStayDifferent) {
  const std::string same(250, 'x');
  EXPECT_NE(path(same + "a"), path(same + "b"));
}

TEST(PathComponentsTest, AThousandLevels) {
  std::string key = "d";
  for (int i = 1; i < 1000; ++i) {
    key += "/d";
  }
  EXPECT_EQ(path_components(key, std::nullopt, kMostStemBytes).size(), 1000U);
}

TEST(ViewNamesTest, SuffixesAndWordsAreThoseOfTheManual) {
  EXPECT_EQ(suffix(View::kNpy), ".npy");
  EXPECT_EQ(suffix(View::kU8view), ".u8view.npy");
  EXPECT_EQ(suffix(View::kMeta), ".meta.json");
  EXPECT_EQ(view_named("raw"), View::kRaw);
  EXPECT_EQ(view_named("c64view"), View::kC64view);
  EXPECT_EQ(view_named("npyx"), std::nullopt);
  for (std::size_t i = 0; i < kViews; ++i) {
    EXPECT_EQ(view_named(view_name(static_cast<View>(i))), static_cast<View>(i));
  }
}

}  // namespace
}  // namespace npyfs
