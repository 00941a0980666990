// Arrays as the manifest of a mount describes them, written as they are made.
#pragma once

#include <iosfwd>
#include <span>

#include "npyfs/tree/views.h"

namespace npyfs {

// A JSON list of the arrays' manifest entries, one a line, in the form of .npyfs/manifest.json.
void write_json_list(const Views& views, std::span<const ItemId> arrays, std::ostream& out);

}  // namespace npyfs
