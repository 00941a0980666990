#include "npyfs/tree/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/memory_store.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

using testing::ElementsAre;

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() {
    auto store = std::make_unique<MemoryStore>();
    const SourcePtr image = memory(npy_image("'<f4'", {3}, counting_bytes(12)));
    for (int i = 0; i < 10; ++i) {
      store->add("key" + std::to_string(i), image);
    }
    store_ = builder_.add_store(std::move(store), "");
    info_ = builder_.add_info(info_of_image(*image));
  }

  ItemId array(ItemId directory, const std::string& stem,
               std::optional<std::string> key = std::nullopt) {
    return builder_.add_array(directory, stem, store_, 0, info_, std::move(key));
  }
  ItemId file(ItemId directory, const std::string& name, bool hidden = false) {
    return builder_.add_file(directory, name, store_, 0, hidden);
  }
  Catalog finish() { return std::move(builder_).finish(); }

  static std::vector<std::string> names(const Catalog& catalog, ItemId directory = kRootItem) {
    std::vector<std::string> names;
    for (const ItemId child : catalog.children(directory)) {
      names.emplace_back(catalog.name(child));
    }
    return names;
  }

  CatalogBuilder builder_{5};
  std::uint32_t store_ = 0;
  std::uint32_t info_ = 0;
};

TEST_F(CatalogTest, AnEmptyOneIsItsRoot) {
  const Catalog catalog = finish();
  EXPECT_EQ(catalog.count(), 1U);
  EXPECT_EQ(catalog.kind(kRootItem), ItemKind::kDirectory);
  EXPECT_EQ(catalog.path(kRootItem), "");
  EXPECT_TRUE(catalog.children(kRootItem).empty());
  EXPECT_EQ(catalog.mtime_ns(kRootItem), 5);
}

TEST_F(CatalogTest, FindsEverythingByDirectoryAndName) {
  const ItemId a = builder_.directory(kRootItem, "a");
  const ItemId b = builder_.directory(a, "b");
  const ItemId in_a = array(a, "w");
  const ItemId in_b = array(b, "w");
  const ItemId text = file(b, "w.txt");
  const Catalog catalog = finish();
  EXPECT_EQ(catalog.find_entry(kRootItem, "a"), a);
  EXPECT_EQ(catalog.find_entry(a, "b"), b);
  EXPECT_EQ(catalog.find_array(a, "w"), in_a);
  EXPECT_EQ(catalog.find_array(b, "w"), in_b);
  EXPECT_EQ(catalog.find_entry(b, "w.txt"), text);
  EXPECT_EQ(catalog.find_entry(b, "w"), kNoItem);
  EXPECT_EQ(catalog.find_array(kRootItem, "w"), kNoItem);
  EXPECT_EQ(catalog.path(text), "a/b/w.txt");
  EXPECT_EQ(catalog.parent(in_b), b);
}

TEST_F(CatalogTest, ChildrenAreInTheOrderTheyCameIn) {
  array(kRootItem, "z");
  const ItemId d = builder_.directory(kRootItem, "d");
  array(kRootItem, "a");
  array(d, "y");
  file(kRootItem, "m");
  array(d, "b");
  const Catalog catalog = finish();
  EXPECT_THAT(names(catalog), ElementsAre("z", "d", "a", "m"));
  EXPECT_THAT(names(catalog, d), ElementsAre("y", "b"));
}

TEST_F(CatalogTest, ADirectoryIsMadeOnce) {
  EXPECT_EQ(builder_.directory(kRootItem, "d"), builder_.directory(kRootItem, "d"));
  const std::vector<std::string> way = {"d", "e", "x"};
  EXPECT_EQ(builder_.directory_of(kRootItem, way), builder_.directory_of(kRootItem, way));
  EXPECT_EQ(finish().count(), 3U);
}

TEST_F(CatalogTest, OfTwoArraysTheLaterIsNumberedInPathAndKey) {
  array(kRootItem, "x", "first");
  const ItemId second = array(kRootItem, "x", "second");
  const ItemId third = array(kRootItem, "x");
  const Catalog catalog = finish();
  EXPECT_THAT(names(catalog), ElementsAre("x", "x~2", "x~3"));
  EXPECT_EQ(catalog.key(second), "second~2");
  EXPECT_EQ(catalog.key(third), "key0~3");
}

TEST_F(CatalogTest, ANumberThatIsTakenIsPassedOver) {
  array(kRootItem, "x~2");
  array(kRootItem, "x");
  array(kRootItem, "x");
  EXPECT_THAT(names(finish()), ElementsAre("x~2", "x", "x~3"));
}

TEST_F(CatalogTest, OfTwoFilesTheLaterIsNumbered) {
  file(kRootItem, "t");
  file(kRootItem, "t");
  file(kRootItem, "w.npy");
  array(kRootItem, "w");
  EXPECT_THAT(names(finish()), ElementsAre("t", "t~2", "w.npy", "w~2"));
}

TEST_F(CatalogTest, AnArrayAndAFileOfTheNameOfItsImageClash) {
  array(kRootItem, "w");
  file(kRootItem, "w.npy");
  EXPECT_THAT(names(finish()), ElementsAre("w", "w.npy~2"));
}

TEST_F(CatalogTest, ADirectoryYieldsToAFileWhicheverComesFirst) {
  file(kRootItem, "a");
  const ItemId after = builder_.directory(kRootItem, "a");
  const ItemId before = builder_.directory(kRootItem, "b");
  file(kRootItem, "b");
  const Catalog catalog = finish();
  EXPECT_EQ(catalog.path(after), "a~2");
  EXPECT_EQ(catalog.path(before), "b~2");
  EXPECT_EQ(catalog.kind(catalog.find_entry(kRootItem, "a")), ItemKind::kFile);
  EXPECT_EQ(catalog.kind(catalog.find_entry(kRootItem, "b")), ItemKind::kFile);
  EXPECT_EQ(catalog.find_entry(kRootItem, "b~2"), before);
}

TEST_F(CatalogTest, ADirectoryThatYieldedStaysOne) {
  file(kRootItem, "a");
  file(kRootItem, "a~2");
  const ItemId first = builder_.directory(kRootItem, "a");
  file(kRootItem, "other");
  EXPECT_EQ(builder_.directory(kRootItem, "a"), first);
  const ItemId b = builder_.directory(kRootItem, "b");
  file(kRootItem, "b~2");
  file(kRootItem, "b");
  EXPECT_EQ(builder_.directory(kRootItem, "b"), b);
  const Catalog catalog = finish();
  EXPECT_EQ(catalog.path(first), "a~3");
  EXPECT_EQ(catalog.path(b), "b~3");
}

TEST_F(CatalogTest, ADirectoryYieldsToAnArraysImage) {
  const ItemId directory = builder_.directory(kRootItem, "a.npy");
  array(kRootItem, "a");
  const Catalog catalog = finish();
  EXPECT_EQ(catalog.path(directory), "a.npy~2");
  EXPECT_NE(catalog.find_array(kRootItem, "a"), kNoItem);
}

TEST_F(CatalogTest, AnArrayAndADirectoryOfItsKeyAreAtPeace) {
  builder_.directory(kRootItem, "a");
  array(kRootItem, "a");
  EXPECT_THAT(names(finish()), ElementsAre("a", "a"));
}

TEST_F(CatalogTest, AContainersDirectoryYieldsToARealOne) {
  builder_.add_directory(kRootItem, "weights", 7);
  const ItemId second = builder_.add_directory(kRootItem, "weights");
  const Catalog catalog = finish();
  EXPECT_THAT(names(catalog), ElementsAre("weights", "weights~2"));
  EXPECT_EQ(catalog.mtime_ns(catalog.find_entry(kRootItem, "weights")), 7);
  EXPECT_EQ(catalog.mtime_ns(second), 5);
}

TEST_F(CatalogTest, RealThingsShadowTheSiblingsOfArrays) {
  const ItemId a = array(kRootItem, "a");
  const ItemId b = array(kRootItem, "b");
  const ItemId c = array(kRootItem, "c");
  file(kRootItem, "a.raw");
  array(kRootItem, "b.u8view");
  builder_.directory(kRootItem, "c.meta.json");
  const Catalog catalog = finish();
  EXPECT_TRUE(catalog.shadowed(a, View::kRaw));
  EXPECT_FALSE(catalog.shadowed(a, View::kU8view));
  EXPECT_TRUE(catalog.shadowed(b, View::kU8view));
  EXPECT_FALSE(catalog.shadowed(b, View::kRaw));
  EXPECT_TRUE(catalog.shadowed(c, View::kMeta));
}

TEST_F(CatalogTest, LongNamesAreNumberedWithinTheLimit) {
  const std::string stem(243, 'x');
  const std::string name(255, 'y');
  array(kRootItem, stem);
  array(kRootItem, stem);
  file(kRootItem, name);
  file(kRootItem, name);
  const Catalog catalog = finish();
  const auto all = names(catalog);
  EXPECT_LE(all[1].size(), kMostStemBytes);
  EXPECT_NE(all[1], all[0]);
  EXPECT_TRUE(all[1].ends_with("~2"));
  EXPECT_LE(all[3].size(), kMostNameBytes);
  EXPECT_TRUE(all[3].ends_with("~2"));
}

TEST_F(CatalogTest, ANameLongerThanANameCanBeIsRefused) {
  EXPECT_THROW(file(kRootItem, std::string(256, 'x')), Error);
}

TEST_F(CatalogTest, TwentyThousandItemsInOneDirectoryAllClashing) {
  for (int i = 0; i < 20'000; ++i) {
    array(kRootItem, "x");
  }
  const Catalog catalog = finish();
  EXPECT_NE(catalog.find_array(kRootItem, "x~20000"), kNoItem);
  EXPECT_EQ(catalog.find_array(kRootItem, "x~20001"), kNoItem);
}

TEST_F(CatalogTest, RenamedDirectoriesLeaveNoTraceAmongManyNames) {
  std::vector<ItemId> directories;
  for (int i = 0; i < 3000; ++i) {
    directories.push_back(builder_.directory(kRootItem, "d" + std::to_string(i)));
  }
  for (int i = 0; i < 3000; ++i) {
    file(kRootItem, "d" + std::to_string(i));
  }
  const Catalog catalog = finish();
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "d" + std::to_string(i);
    EXPECT_EQ(catalog.kind(catalog.find_entry(kRootItem, name)), ItemKind::kFile);
    EXPECT_EQ(catalog.find_entry(kRootItem, name + "~2"), directories[static_cast<std::size_t>(i)]);
  }
}

TEST_F(CatalogTest, HiddenThingsAreFoundAllTheSame) {
  const ItemId hidden = file(kRootItem, "index.npz", true);
  const Catalog catalog = finish();
  EXPECT_TRUE(catalog.hidden(hidden));
  EXPECT_EQ(catalog.find_entry(kRootItem, "index.npz"), hidden);
}

TEST_F(CatalogTest, AKeyHasTheWayOfItsContainerInFront) {
  auto store = std::make_unique<MemoryStore>();
  store->add("w", memory(std::string("x")));
  const std::uint32_t number = builder_.add_store(std::move(store), "sub/weights/");
  const ItemId item = builder_.add_array(kRootItem, "w", number, 0, info_);
  EXPECT_EQ(finish().key(item), "sub/weights/w");
}

}  // namespace
}  // namespace npyfs
