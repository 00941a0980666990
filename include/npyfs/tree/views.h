// The files of an array, each a Source made when it is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npyfs/source/decoded.h"
#include "npyfs/tree/catalog.h"

namespace npyfs {

// Thread-safe; the catalog must outlive it.
class Views {
 public:
  Views(const Catalog& catalog, std::shared_ptr<Decoder> decoder);

  const Catalog& catalog() const { return catalog_; }

  // Whether the array has this file. Its NAME.npy and NAME.meta.json always exist, unless something
  // real took the place of the latter.
  bool exists(ItemId array, View view) const;

  // Bytes of the file; meta.json is written to a counter for it.
  std::uint64_t size(ItemId array, View view) const;

  // Throws Error if the bytes can't be had: a damaged or encrypted member, a file that is gone.
  SourcePtr open(ItemId array, View view) const;

  // The data in C order, as NAME.raw has it. Precondition: info(array).has_views().
  SourcePtr data(ItemId array) const;

 private:
  const Catalog& catalog_;
  std::shared_ptr<Decoder> decoder_;
  std::uint64_t first_object_;  // that each item would be in the cache, transposed
};

// The view with the values of an element type that NumPy lacks; nullopt for all other types.
std::optional<View> value_view(const ArrayInfo& info);

// Keys of the arrays beside this one that hold its scales, as quantised checkpoints name them. The
// values we show are those of the codes alone, which whoever reads them has to know.
std::vector<std::string> scales_of(const Catalog& catalog, ItemId array);

}  // namespace npyfs
