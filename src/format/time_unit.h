// The unit of a datetime or timedelta: `[ns]`, `[25s]`, `[ns/1000]`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "npyfs/format/dtype.h"

namespace npyfs {

// Sets unit and unit_multiple from the brackets after M8 or m8, or from nothing. A divisor becomes
// a multiple of a shorter unit, by NumPy's table: `[ns/1000]` is `[ps]`. False if NumPy wouldn't
// take it.
bool set_time_unit(Dtype& dtype, std::string_view text);

// The unit in its brackets, "[25s]", or nothing if it is generic.
std::string time_unit_text(const Dtype& dtype);

// A decimal number that is all of `text`; nullopt if it isn't one or passes 2^63 - 1.
std::optional<std::uint64_t> decimal(std::string_view text);

}  // namespace npyfs
