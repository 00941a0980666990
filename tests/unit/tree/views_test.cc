#include "npyfs/tree/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/source/compose.h"

#include "support/counting_source.h"
#include "support/memory_store.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

class ViewsTest : public testing::Test {
 protected:
  // One array, made from an image or from data that a sidecar describes.
  void make(const std::vector<std::byte>& image, std::string_view type = "") {
    ArrayInfo info = *info_of_image(*memory(image));
    if (!type.empty()) {
      set_type(info, type, DtypeFrom::kOption);
    }
    make(image, std::move(info));
  }
  void make(const std::vector<std::byte>& stored, ArrayInfo info, const std::string& stem = "w") {
    CatalogBuilder builder(0);
    source_ = std::make_shared<CountingSource>(memory(stored));
    auto store = std::make_unique<MemoryStore>();
    store->add(stem, source_);
    const std::uint32_t number = builder.add_store(std::move(store), "");
    const std::uint32_t info_number =
        builder.add_info(std::make_shared<const ArrayInfo>(std::move(info)));
    array_ = builder.add_array(kRootItem, stem, number, 0, info_number);
    catalog_.emplace(std::move(builder).finish());
    views_.emplace(*catalog_, std::make_shared<Decoder>());
  }

  std::string text(View view) {
    const SourcePtr source = views_->open(array_, view);
    const auto bytes = read_bytes(*source, 0, source->size());
    EXPECT_EQ(views_->size(array_, view), bytes.size());
    return std::string(text_view(bytes));
  }

  // The parts of a .npy view: its header, and the data.
  NpyHeader header(View view) { return parse_npy_header(bytes_of(text(view))); }
  std::string data(View view) { return text(view).substr(header(view).data_offset); }

  std::shared_ptr<const CountingSource> source_;
  std::optional<Catalog> catalog_;
  std::optional<Views> views_;
  ItemId array_ = kNoItem;
};

std::string text_of_bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) {
    text += static_cast<char>(value);
  }
  return text;
}

TEST_F(ViewsTest, TheImageIsServedAsItIsStored) {
  auto image = npy_image("'<f4'", {2, 3}, counting_bytes(30));
  image[100] = std::byte{'\t'};
  make(image);
  EXPECT_EQ(text(View::kNpy), text_view(image));
  EXPECT_EQ(text(View::kRaw), text_view(image).substr(128, 24)) << "trailing bytes are no data";
}

TEST_F(ViewsTest, TheBytesAreAnArrayOfTheirOwn) {
  make(npy_image("'<f4'", {2, 3}, counting_bytes(24)));
  EXPECT_EQ(header(View::kU8view).dtype.descr, "|u1");
  EXPECT_EQ(header(View::kU8view).shape, Shape({2, 12}));
  EXPECT_EQ(data(View::kU8view), text(View::kRaw));
  make(npy_image("'<f4'", {}, counting_bytes(4)));
  EXPECT_EQ(header(View::kU8view).shape, Shape({4}));
  make(npy_image("'<f4'", {3, 0}, {}));
  EXPECT_EQ(header(View::kU8view).shape, Shape({3, 0}));
  EXPECT_EQ(text(View::kRaw), "");
}

TEST_F(ViewsTest, AllButTheImageAreInCOrder) {
  // Of [[0, 1, 2], [3, 4, 5]], column by column.
  const std::string stored = text_of_bytes({0, 3, 1, 4, 2, 5});
  make(npy_image("'|u1'", {2, 3}, bytes_of(stored), true));
  EXPECT_TRUE(header(View::kNpy).fortran_order);
  EXPECT_FALSE(header(View::kU8view).fortran_order);
  EXPECT_EQ(text(View::kRaw), text_of_bytes({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(data(View::kU8view), text_of_bytes({0, 1, 2, 3, 4, 5}));
}

TEST_F(ViewsTest, DataWithASidecarGetsAHeaderInFront) {
  const auto sidecar = *parse_sidecar(bytes_of(R"({"shape": [2, 2], "dtype": "float8_e5m2"})"));
  const std::string stored = text_of_bytes({0x3C, 0x40, 0xC0, 0x7C});
  const Bytes bytes = bytes_of(stored);
  make({bytes.begin(), bytes.end()}, describe_data(sidecar, {}, 4));
  EXPECT_EQ(text(View::kRaw), stored);
  EXPECT_EQ(header(View::kNpy).dtype.descr, "<V1");
  EXPECT_EQ(header(View::kNpy).shape, Shape({2, 2}));
  EXPECT_EQ(data(View::kNpy), stored);
  EXPECT_EQ(data(View::kU8view), stored);
}

TEST_F(ViewsTest, ValuesOfATypeThatNumpyLacks) {
  make(npy_image("'<V2'", {2}, bytes_of(text_of_bytes({0x80, 0x3F, 0x00, 0xC0}))));
  ASSERT_TRUE(views_->exists(array_, View::kF32view)) << "<V2 is bfloat16";
  EXPECT_EQ(header(View::kF32view).dtype.descr, "<f4");
  EXPECT_EQ(header(View::kF32view).shape, Shape({2}));
  EXPECT_EQ(data(View::kF32view), text_of_bytes({0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}));
  EXPECT_FALSE(views_->exists(array_, View::kC64view));
}

TEST_F(ViewsTest, ComplexValuesAreComplex64) {
  make(npy_image("'<V4'", {1}, bytes_of(text_of_bytes({0x80, 0x3F, 0x00, 0xC0}))), "bcomplex32");
  ASSERT_TRUE(views_->exists(array_, View::kC64view));
  EXPECT_FALSE(views_->exists(array_, View::kF32view));
  EXPECT_EQ(header(View::kC64view).dtype.descr, "<c8");
  EXPECT_EQ(data(View::kC64view), text_of_bytes({0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}));
}

TEST_F(ViewsTest, PlainAndUnknownTypesHaveNoValueView) {
  make(npy_image("'<f4'", {1}, counting_bytes(4)));
  EXPECT_FALSE(views_->exists(array_, View::kF32view));
  make(npy_image("'<V1'", {1}, counting_bytes(1)));
  EXPECT_FALSE(views_->exists(array_, View::kF32view)) << "no guess";
}

TEST_F(ViewsTest, PickledAndDamagedArraysHaveTheirImageAndMetaOnly) {
  const auto only_image = [&] {
    return views_->exists(array_, View::kNpy) && views_->exists(array_, View::kMeta) &&
           !views_->exists(array_, View::kRaw) && !views_->exists(array_, View::kU8view) &&
           !views_->exists(array_, View::kF32view) && !views_->exists(array_, View::kC64view);
  };
  const auto pickled = npy_image("'|O'", {2}, counting_bytes(40));
  make(pickled);
  EXPECT_TRUE(only_image());
  EXPECT_EQ(text(View::kNpy), text_view(pickled));
  const auto cut = npy_image("'<V2'", {3}, counting_bytes(5));
  make(cut);
  EXPECT_TRUE(only_image());
  EXPECT_EQ(text(View::kNpy), text_view(cut));
}

TEST_F(ViewsTest, AViewWhoseNameWouldBeTooLongDoesNotExist) {
  const auto image = npy_image("'<f4'", {1}, counting_bytes(4));
  make(image, *info_of_image(*memory(image)), std::string(251, 'x'));
  EXPECT_TRUE(views_->exists(array_, View::kNpy));
  EXPECT_TRUE(views_->exists(array_, View::kRaw));
  EXPECT_FALSE(views_->exists(array_, View::kU8view));
  EXPECT_FALSE(views_->exists(array_, View::kMeta));
}

TEST_F(ViewsTest, SizesAndOpeningReadNothing) {
  make(npy_image("'<V2'", {100}, counting_bytes(200)));
  for (const View view : {View::kNpy, View::kRaw, View::kU8view, View::kMeta, View::kF32view}) {
    views_->size(array_, view);
    views_->open(array_, view);
  }
  EXPECT_TRUE(source_->reads().empty());
}

TEST_F(ViewsTest, ARowIsReadWithoutTheRest) {
  make(npy_image("'<f4'", {1000, 250}, counting_bytes(1'000'000)));
  const SourcePtr raw = views_->open(array_, View::kRaw);
  EXPECT_EQ(read_bytes(*raw, 1000 * 700, 1000).size(), 1000U);
  ASSERT_EQ(source_->reads().size(), 1U);
  EXPECT_EQ(source_->reads()[0].offset, 128U + 700'000);
  EXPECT_EQ(source_->reads()[0].length, 1000U);
}

}  // namespace
}  // namespace npyfs
