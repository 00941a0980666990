// Numbers as pickles have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "npyfs/base/bytes.h"

namespace npyfs {

// Little-endian two's complement of any length, in decimal; "0" if empty. Takes time quadratic in
// the length.
std::string decimal_of(Bytes little_endian);

// Big-endian IEEE double. Precondition: eight bytes.
double big_endian_real(Bytes bytes);

// A float as Python's repr() prints it. Throws Error (EIO) for anything else.
double parse_real(std::string_view text);

}  // namespace npyfs
