// How the interpreter of pickles refuses one: every rule ends in one of two ways out.
#pragma once

#include "npyfs/base/error.h"

namespace npyfs {

// Bytes that no pickle has: EIO.
template <typename... Parts>
[[noreturn]] void throw_broken_pickle(const Parts&... parts) {
  throw_corrupt(parts..., "; damaged, or no pickle: fetch or write it again");
}

// A pickle that may well be one, but beyond a limit of ours: EOPNOTSUPP.
template <typename... Parts>
[[noreturn]] void throw_beyond_limit(const Parts&... parts) {
  throw_unsupported(parts..., "; load it with Python and save its arrays with np.savez");
}

}  // namespace npyfs
