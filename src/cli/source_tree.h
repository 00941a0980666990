// A source opened for a verb that works without FUSE: the same Tree that a mount serves.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/tree/load.h"
#include "npyfs/tree/tree.h"

namespace npyfs {

// Throws Error like load().
std::unique_ptr<Tree> open_source(const std::string& path, const LoadOptions& options);

// Arrays that were asked for.
struct Selection {
  std::vector<ItemId> arrays;           // in the order of the source, each once
  std::vector<const Problem*> missing;  // that an index names but aren't there
  std::vector<std::string> unmatched;   // of the wanted ones, those that no array fits
};

// The arrays whose key fits one of `globs`, where `*` crosses '/' and a key fits itself whatever is
// in it; all without any. `catalog` must outlive the result.
Selection select_arrays(const Catalog& catalog, std::span<const std::string> globs);

// The same by key, or path in the mount with or without a suffix.
Selection select_by_name(const Catalog& catalog, std::span<const std::string> names);

// The key of an array that an index names and that isn't there; "" if the problem is another one.
std::string missing_key(const Problem& problem);

// What is wrong, without the place in front.
std::string_view text_without_place(const Problem& problem);

// The file at a path in the mount, with its suffix. Throws Error: ENOENT or EISDIR, with what there
// is instead.
Inode find_file(const Tree& tree, const std::string& path);

}  // namespace npyfs
