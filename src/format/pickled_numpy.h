// Tells which calls in a pickle make NumPy arrays and scalars.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "npyfs/format/pickle.h"
#include "npyfs/format/pickled_arrays.h"

#include "format/pickled_dtype.h"

namespace npyfs {

// An array as its call says; without a path.
struct NumpyValue {
  PickledArray array;                // if there are no `elements`
  PickleId elements = kNoPickle;     // of an array with objects: a list, in C order
  std::span<const PickleId> names;   // of the fields that each element is a tuple of, if it is one
  std::optional<PickledArray> mask;  // of a masked array: True where a value doesn't count
  std::string note;                  // what of it isn't shown; empty if nothing
};

// Whether the value is NumPy's own function of that name, under the module names of any version.
bool is_numpy_function(const Pickle& pickle, PickleId callable, std::string_view name);

// Borrows the pickle.
class PickledNumpy {
 public:
  explicit PickledNumpy(const Pickle& pickle) : pickle_(pickle), dtypes_(pickle) {}

  // What the value is, or nullopt if it is nothing of NumPy's. Throws Error (EIO, EOPNOTSUPP) for
  // an array that can't be shown, with the reason.
  std::optional<NumpyValue> read(PickleId id);

 private:
  // What NumPy's functions and states say, before it is checked.
  struct Parts {
    PickleId dtype = kNoPickle;
    PickleId shape = kNoPickle;  // none: a scalar
    PickleId data = kNoPickle;
    bool fortran_order = false;
    PickleId axes = kNoPickle;  // the stored ones in the array's order, if that is neither
  };

  bool is_numpy(PickleId callable, std::string_view name) const {
    return is_numpy_function(pickle_, callable, name);
  }
  NumpyValue from_state(PickleId state);
  NumpyValue from_masked(PickleId state);
  NumpyValue from_buffer(PickleId arguments);
  NumpyValue from_scalar(PickleId arguments);
  NumpyValue checked(const Parts& parts);
  std::span<const PickleId> field_names(PickleId dtype) const;
  void put_axes_in_order(PickledArray& array, PickleId axes) const;
  std::span<const PickleId> tuple(PickleId id, std::size_t least) const;

  const Pickle& pickle_;
  PickledDtypes dtypes_;
};

}  // namespace npyfs
