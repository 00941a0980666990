// The NumPy arrays and scalars inside a pickle, wherever in its objects they are.
//
// What NumPy's own classes write is recognised, under the module names of NumPy 1 and 2: arrays
// (also matrices and memory maps), scalars, ml_dtypes' types, masked arrays, whose mask is the
// array `mask` below them, object arrays, whose elements are looked into, and jax arrays. Of other
// objects what was set on them is looked through, by attribute, key or index. Whatever else there
// is becomes a note; nothing is an error for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "npyfs/format/dtype.h"
#include "npyfs/format/pickle.h"
#include "npyfs/format/shape.h"
#include "npyfs/source/block_cache.h"

namespace npyfs {

struct PickledArray {
  // From the root: keys of dicts, attributes, indices. Text keys as they are (mind '/' and bytes
  // that aren't UTF-8), other keys as Python prints them. Empty if the pickle is this one array.
  std::vector<std::string> path;
  std::shared_ptr<const Dtype> dtype;  // its descr is what a new header shall say
  Shape shape;                         // () for a scalar
  bool fortran_order = false;
  // Where the axes are stored in an order that is neither C's nor Fortran's: which stored axis each
  // one is, else empty.
  std::vector<std::size_t> axes;
  std::uint64_t nbytes = 0;
  PickleRange data;  // where they are written in the source of the pickle
};

struct PickledArrays {
  // Limits; what lies beyond one is left out, and a note says so.
  static constexpr std::size_t kDeepest = 100;
  static constexpr std::size_t kMostArrays = 1000000;
  static constexpr std::size_t kMostPathBytes = std::size_t{64} << 20;  // of all paths together
  static constexpr std::size_t kMostNotes = 100;

  std::vector<PickledArray> arrays;  // in the order of the pickle
  std::vector<std::string> notes;    // `a/b: what isn't shown, and why`
};

// Never throws for what the pickle says, only Error (EINTR) if cancelled.
PickledArrays find_arrays(const Pickle& pickle);

// The array's bytes in Fortran order if it says so, else in C order. `source` is what the pickle
// was read from. In place where they are written as they are; where they are text, or the axes are
// in an order of their own, put right on read, for which `cache` and `object` are as c_order has
// them. Throws Error (EIO) if the text can't have so many bytes.
SourcePtr array_data(const PickledArray& array, const SourcePtr& source,
                     std::shared_ptr<BlockCache> cache, std::uint64_t object);

}  // namespace npyfs
