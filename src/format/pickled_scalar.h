// NumPy scalars in a pickle that are keys: what they say.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "npyfs/format/pickle.h"

namespace npyfs {

struct ScalarText {
  std::string text;  // UTF-8
};
struct ScalarBytes {
  std::string bytes;
};

// Nothing if the value is no scalar of NumPy's, or of a type that makes no name: times, complex
// numbers, long doubles, structures.
using PickledScalar = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double,
                                   ScalarText, ScalarBytes>;

// Precondition: the value is a call.
PickledScalar pickled_scalar(const Pickle& pickle, PickleId id);

}  // namespace npyfs
