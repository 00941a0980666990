#include "npyfs/tree/meta.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "npyfs/source/compose.h"

#include "support/memory_store.h"
#include "support/npz_builder.h"

namespace npyfs {
namespace {

// A catalog of arrays made from images, and their views.
class MetaTest : public testing::Test {
 protected:
  ItemId add(const std::string& key, const std::vector<std::byte>& image,
             std::string_view type = "") {
    const SourcePtr source = memory(image);
    ArrayInfo info = *info_of_image(*source);
    if (!type.empty()) {
      set_type(info, type, DtypeFrom::kOption);
    }
    return add(key, source, std::move(info));
  }
  ItemId add(const std::string& key, const SourcePtr& source, ArrayInfo info) {
    const std::uint32_t index = store_->add(key, source);
    const std::uint32_t number =
        builder_.add_info(std::make_shared<const ArrayInfo>(std::move(info)));
    return builder_.add_array(kRootItem, key, number_, index, number);
  }

  const Views& views() {
    if (!catalog_) {
      catalog_.emplace(std::move(builder_).finish());
      views_.emplace(*catalog_, std::make_shared<Decoder>());
    }
    return *views_;
  }

  std::string meta(ItemId array) {
    StringSink text;
    write_meta(views(), array, text);
    CountingSink count;
    write_meta(views(), array, count);
    EXPECT_EQ(count.size(), text.text().size());
    EXPECT_EQ(views().size(array, View::kMeta), text.text().size());
    return text.text();
  }

  CatalogBuilder builder_{0};
  MemoryStore* store_ = nullptr;
  std::uint32_t number_ = [this] {
    auto store = std::make_unique<MemoryStore>();
    store_ = store.get();
    return builder_.add_store(std::move(store), "");
  }();
  std::optional<Catalog> catalog_;
  std::optional<Views> views_;
};

TEST_F(MetaTest, OfAPlainArray) {
  const ItemId array = add("w", npy_image("'<f4'", {2, 3}, counting_bytes(24)));
  EXPECT_EQ(
      meta(array),
      R"({"npyfs": 1, "name": "w", "dtype": "float32", "dtype_from": "header", "descr": "<f4", )"
      R"("shape": [2, 3], "fortran_order": false, "itemsize": 4, "size": 6, "nbytes": 24, )"
      R"("data_offset": 128, "npy_version": "1.0", )"
      R"("files": {"npy": 152, "raw": 24, "u8view.npy": 152}})"
      "\n");
}

TEST_F(MetaTest, OfAScalarInBigEndian) {
  const ItemId array = add("s", npy_image("'>f8'", {}, counting_bytes(8)));
  EXPECT_EQ(meta(array),
            R"({"npyfs": 1, "name": "s", "dtype": ">f8", "dtype_from": "header", "descr": ">f8", )"
            R"("shape": [], "fortran_order": false, "itemsize": 8, "size": 1, "nbytes": 8, )"
            R"("data_offset": 128, "npy_version": "1.0", )"
            R"("files": {"npy": 136, "raw": 8, "u8view.npy": 136}})"
            "\n");
}

TEST_F(MetaTest, OfAStructuredArray) {
  const ItemId array =
      add("p", npy_image("[('a', '|i1'), ('', '|V3'), (('Title', 'b'), '<f4', (2,))]", {1},
                         counting_bytes(12)));
  EXPECT_EQ(
      meta(array),
      R"({"npyfs": 1, "name": "p", "dtype": null, "dtype_from": "header", )"
      R"("descr": [["a", "|i1"], ["", "|V3"], [["Title", "b"], "<f4", [2]]], )"
      R"("shape": [1], "fortran_order": false, "itemsize": 12, "size": 1, "nbytes": 12, )"
      R"("data_offset": 192, "npy_version": "1.0", )"
      R"("files": {"npy": 204, "raw": 12, "u8view.npy": 140}, )"
      R"("fields": [{"name": "a", "dtype": "int8", "descr": "|i1", "offset": 0}, )"
      R"({"name": "b", "title": "Title", "dtype": "float32", "descr": "<f4", "shape": [2], "offset": 4}]})"
      "\n");
}

TEST_F(MetaTest, OfAPickledArray) {
  const ItemId array = add("o", npy_image("'|O'", {2}, counting_bytes(40)));
  EXPECT_EQ(
      meta(array),
      R"({"npyfs": 1, "name": "o", "dtype": "|O", "dtype_from": "header", "descr": "|O", "shape": [2], )"
      R"("fortran_order": false, "itemsize": 8, "size": 2, "data_offset": 128, "npy_version": "1.0", )"
      R"("files": {"npy": 168}, "pickled": true})"
      "\n");
}

TEST_F(MetaTest, OfAnArrayThatIsCut) {
  const ItemId array = add("c", npy_image("'<f4'", {2, 3}, counting_bytes(18), true));
  EXPECT_EQ(
      meta(array),
      R"({"npyfs": 1, "name": "c", "dtype": "float32", "dtype_from": "header", "descr": "<f4", )"
      R"("shape": [2, 3], "fortran_order": true, "itemsize": 4, "size": 6, "nbytes": 24, )"
      R"("data_offset": 128, "npy_version": "1.0", "files": {"npy": 146}, "notes": ["truncated"], )"
      R"("error": "the data is cut short: shape (2, 3) of float32 needs 24 bytes, 18 are there; fetch or write it again"})"
      "\n");
}

TEST_F(MetaTest, OfAnArrayWhoseHeaderCannotBeRead) {
  const ItemId array =
      add("x", memory(std::string(30, 'x')), unreadable_image(Error(EIO, "no \"header\"")));
  EXPECT_EQ(meta(array),
            R"({"npyfs": 1, "name": "x", "files": {"npy": 30}, "error": "no \"header\""})"
            "\n");
}

TEST_F(MetaTest, OfATypeThatMayBeMany) {
  const ItemId array = add("v", npy_image("'<V1'", {3}, counting_bytes(3)));
  const auto json = nlohmann::json::parse(meta(array));
  EXPECT_TRUE(json["candidates"].is_array());
  EXPECT_THAT(json["candidates"].get<std::vector<std::string>>(),
              testing::Contains("float8_e4m3fn"));
  EXPECT_EQ(json["descr"], "<V1");
}

TEST_F(MetaTest, OfATypeThatWasTold) {
  const ItemId array = add("v", npy_image("'<V1'", {3}, counting_bytes(3)), "float8_e4m3fn");
  const auto json = nlohmann::json::parse(meta(array));
  EXPECT_EQ(json["dtype"], "float8_e4m3fn");
  EXPECT_EQ(json["dtype_from"], "option");
  EXPECT_EQ(json["files"]["f32view.npy"], 128 + 12);
  EXPECT_FALSE(json.contains("candidates"));
}

TEST_F(MetaTest, OfBytesWithASidecarHasTheDescrOfTheServedHeader) {
  const auto sidecar = *parse_sidecar(bytes_of(R"({"shape": [4], "dtype": "float8_e5m2"})"));
  const ItemId array = add("b", memory(std::string(4, '\1')), describe_data(sidecar, {}, 4));
  const auto json = nlohmann::json::parse(meta(array));
  EXPECT_EQ(json["descr"], "<V1");
  EXPECT_EQ(json["dtype"], "float8_e5m2");
  EXPECT_EQ(json["dtype_from"], "sidecar");
  EXPECT_EQ(json["files"]["npy"], json["data_offset"].get<int>() + 4);
}

TEST_F(MetaTest, AKeyIsShownAsTextWhateverItsBytes) {
  const ItemId array = add("caf\xe9\"\n", npy_image("'<f4'", {0}, {}));
  EXPECT_EQ(nlohmann::json::parse(meta(array))["name"], "caf%E9\"\n");
}

TEST_F(MetaTest, AShapeWithoutElementsMayBeTooLongForBytes) {
  const ItemId array = add("z", npy_image("'<f8'", {0, std::uint64_t{1} << 62}, {}));
  const auto json = nlohmann::json::parse(meta(array));
  EXPECT_TRUE(json["files"].contains("raw"));
  EXPECT_FALSE(json["files"].contains("u8view.npy"));
  EXPECT_FALSE(views().exists(array, View::kU8view));
}

TEST_F(MetaTest, TheManifestIsAListOfAllArraysInOrder) {
  for (int i = 0; i < 200; ++i) {
    add("w" + std::to_string(i), npy_image("'<f4'", {static_cast<std::uint64_t>(i)},
                                           counting_bytes(4 * static_cast<std::size_t>(i))));
  }
  const SourcePtr source = manifest(views());
  const auto bytes = read_bytes(*source, 0, source->size());
  const auto json = nlohmann::json::parse(text_view(bytes));
  ASSERT_EQ(json.size(), 200U);
  EXPECT_EQ(json[7]["name"], "w7");
  EXPECT_EQ(json[7]["path"], "w7");
  EXPECT_EQ(json[7]["source"]["format"], "npy");
  EXPECT_EQ(json[7]["source"]["offset"], 0);
  EXPECT_EQ(json[7]["source"]["stored_bytes"], 128 + 28);
}

TEST_F(MetaTest, AnyPieceOfTheManifestIsRight) {
  for (int i = 0; i < 300; ++i) {
    add("array" + std::to_string(i * i), npy_image("'<f4'", {3}, counting_bytes(12)));
  }
  const SourcePtr source = manifest(views());
  const auto whole = read_bytes(*source, 0, source->size());
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    const std::size_t offset = random() % (whole.size() + 1);
    const std::size_t length = random() % std::min<std::size_t>(whole.size() - offset + 1, 40'000);
    ASSERT_TRUE(std::ranges::equal(read_bytes(*source, offset, length),
                                   Bytes(whole).subspan(offset, length)));
  }
}

TEST_F(MetaTest, TheManifestOfNothingIsAnEmptyList) {
  const SourcePtr source = manifest(views());
  const auto bytes = read_bytes(*source, 0, source->size());
  EXPECT_TRUE(nlohmann::json::parse(text_view(bytes)).empty());
}

TEST(ProblemsJsonTest, IsAListOfWhereWhatAndErrno) {
  EXPECT_EQ(problems_json({}), "[]\n");
  EXPECT_EQ(
      problems_json({{"x.npz: a.npy", "cut", EIO}, {"gone.npy", "not \"there\"", ENOENT}}),
      "[\n{\"where\": \"x.npz: a.npy\", \"what\": \"cut\", \"errno\": \"EIO\"},\n"
      "{\"where\": \"gone.npy\", \"what\": \"not \\\"there\\\"\", \"errno\": \"ENOENT\"}\n]\n");
}

}  // namespace
}  // namespace npyfs
