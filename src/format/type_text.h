// One element type written as text, without fields: `<f4`, `f4`, `float32`, `M8[25s]`, `bfloat16`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "npyfs/format/dtype.h"

namespace npyfs {

// The type; its descr stays empty. What NumPy doesn't know but has a number is kUnknown with that
// many bytes an element. nullopt if no size can be told.
std::optional<Dtype> type_of_text(std::string_view text);

// `.str` of a type without fields, except that a user-defined kVoid keeps its `<` or `>`; kElement
// and kUnknown become such a void.
std::string loadable_text(const Dtype& dtype);

}  // namespace npyfs
