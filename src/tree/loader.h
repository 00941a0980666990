// What every kind of source needs to put its arrays into a catalog: type rules, the parts of files
// with several images, problems.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npyfs/format/npz.h"
#include "npyfs/tree/load.h"

namespace npyfs {

class Loader {
 public:
  Loader(const LoadOptions& options, std::shared_ptr<Decoder> decoder, std::int64_t mtime_ns)
      : options_(options), decoder_(std::move(decoder)), builder_(mtime_ns) {}

  const LoadOptions& options() const { return options_; }
  const std::shared_ptr<Decoder>& decoder() const { return decoder_; }
  CatalogBuilder& builder() { return builder_; }

  // An array of `store` to be shown at `stem` in `directory`. `key` if it isn't the store's own.
  struct Place {
    ItemId directory = kRootItem;
    std::string stem;
    std::optional<std::string> key;
  };
  ItemId add_array(const Place& place, std::uint32_t store, std::uint32_t index,
                   std::shared_ptr<const ArrayInfo> info);

  // All members of an archive, but those for which `skip` says so, below `directory`. `store` is
  // its number.
  void add_npz(const Npz& npz, std::uint32_t store, ItemId directory,
               const std::vector<bool>& skip = {});

  // A pickle may hold arrays; they are shown below `stem`, beside the item, or under that name if
  // the pickle is one array. `offset`: where it begins in the item's bytes. `below`: in this
  // directory instead of one called `stem`.
  void add_pickle(ItemId item, std::string stem, std::uint64_t offset, ItemId below = kNoItem) {
    pickles_.push_back({item, std::move(stem), offset, below});
  }

  void add_problem(std::string where, const Error& error) {
    builder_.add_problem({std::move(where), error.what(), error.errno_value()});
  }

  // Adds what has to wait until every real item has its name.
  Catalog finish() &&;

 private:
  std::shared_ptr<const ArrayInfo> with_rules(const std::shared_ptr<const ArrayInfo>& info,
                                              std::string_view key);
  std::uint32_t info_number(const std::shared_ptr<const ArrayInfo>& info);
  void add_parts(ItemId array);
  struct PickledItem {
    ItemId item = kNoItem;
    std::string stem;
    std::uint64_t offset = 0;
    ItemId below = kNoItem;
  };
  void show_pickle(const PickledItem& pickled);
  void add_notes(ItemId array, const std::vector<std::string>& notes);

  const LoadOptions& options_;
  std::shared_ptr<Decoder> decoder_;
  CatalogBuilder builder_;
  std::map<std::pair<const ArrayInfo*, const TypeRule*>, std::shared_ptr<const ArrayInfo>> ruled_;
  std::map<std::shared_ptr<const ArrayInfo>, std::uint32_t> numbers_;
  std::vector<ItemId> with_parts_;  // arrays whose file may hold further images
  std::vector<PickledItem> pickles_;
};

// The name under which the arrays of a pickle are shown: `name` less ".pkl" or ".pickle", and less
// ".npy" before that; nullopt if the name is no pickle's.
std::optional<std::string> pickle_stem(std::string_view name);

}  // namespace npyfs
