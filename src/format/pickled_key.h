// What the key of a dict is called in a path.
#pragma once

#include <string>

#include "npyfs/format/pickle.h"

namespace npyfs {

// Text as it is; numbers, None and tuples of these as Python prints them; of NumPy's scalars the
// value alone. `position`: of the item
// in its dict, which names a key that can't be written down.
std::string pickled_key(const Pickle& pickle, PickleId key, std::size_t position);

// A double as Python's repr() prints it.
std::string real_text(double value);

}  // namespace npyfs
