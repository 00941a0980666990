// What is known of an array, in words.
#pragma once

#include <string>

#include "npyfs/tree/views.h"

namespace npyfs {

// For a column: "float32", ">f4", "float8_e4m3fn", "|V1?" where the header leaves several types,
// "3 fields", "object"; "-" if nothing is known.
std::string type_text(const ArrayInfo& info);

// Several lines: type and where it came from, shape, order, sizes, storage, files, and what is odd.
std::string describe_array(const Views& views, ItemId array);

}  // namespace npyfs
