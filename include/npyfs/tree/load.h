// From a path to a Catalog: what kind of source it is, and everything in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npyfs/source/decoded.h"
#include "npyfs/tree/catalog.h"

namespace npyfs {

// --dtype GLOB=TYPE.
struct TypeRule {
  std::string glob;  // on keys; `*` crosses '/'
  std::string type;
};

struct LoadOptions {
  std::optional<char> split;    // also makes directories of array keys
  std::vector<TypeRule> types;  // the first that matches counts
  // Symbolic links in a directory source that lead out of it aren't shown: other users may look.
  bool confine_links = false;
};

// Reads the source at `path`: a .npz, a .npy, or a directory of such. Throws Error if it is none or
// can't be read at all, with what it is and the way out; what is wrong inside it becomes a problem
// of the catalog. Uses all cores for a while and leaves no thread behind.
Catalog load(const std::string& path, const LoadOptions& options,
             const std::shared_ptr<Decoder>& decoder);

}  // namespace npyfs
