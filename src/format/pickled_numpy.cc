// An array is a call of _reconstruct, which makes an empty one, and a state (version, shape, dtype,
// is Fortran, data), from protocol 5 on a call of _frombuffer(data, dtype, shape, order), where
// NumPy 2.3 and later may say of the order that it is 'K' and which axes a transpose gave; a scalar
// is a call of scalar(dtype, data). Protocols below 3 have no bytes: data is _codecs.encode(text,
// 'latin1'). All of it in numpy/_core/src/multiarray/methods.c and scalartypes.c.src.
#include "format/pickled_numpy.h"

#include <algorithm>
#include <utility>

#include "npyfs/base/error.h"

#include "format/pickled_bytes.h"

namespace npyfs {

bool is_numpy_function(const Pickle& pickle, PickleId callable, std::string_view name) {
  if (callable == kNoPickle || pickle.kind(callable) != PickleKind::kGlobal ||
      pickle.name(callable) != name) {
    return false;
  }
  const std::string_view module = pickle.module(callable);
  return module.starts_with("numpy.core.") || module.starts_with("numpy._core.");
}

std::span<const PickleId> PickledNumpy::tuple(PickleId id, std::size_t least) const {
  const bool is_tuple = id != kNoPickle && pickle_.kind(id) == PickleKind::kTuple;
  if (!is_tuple || pickle_.items(id).size() < least) {
    throw_corrupt("an array of which too little is said");
  }
  return pickle_.items(id);
}

std::optional<NumpyValue> PickledNumpy::read(PickleId id) {
  const PickleCall& call = pickle_.call(id);
  if (is_numpy(call.callable, "_reconstruct")) {
    return from_state(call.state);
  }
  if (is_numpy(call.callable, "_frombuffer")) {
    return from_buffer(call.arguments);
  }
  if (is_numpy(call.callable, "scalar")) {
    return from_scalar(call.arguments);
  }
  if (pickle_.is_global(call.callable, "numpy.ma.core", "_mareconstruct")) {
    return from_masked(call.state);
  }
  // (function, arguments, state, …) of the array that a jax array was turned into
  if (pickle_.is_global(call.callable, "jax._src.array", "_reconstruct_array")) {
    const auto parts = tuple(call.arguments, 3);
    if (is_numpy(parts[0], "_reconstruct")) {
      return from_state(parts[2]);
    }
  }
  return std::nullopt;
}

NumpyValue PickledNumpy::from_state(PickleId state) {
  // A subclass may put what it adds beside the state that ndarray made: (state, attributes).
  const bool is_pair = state != kNoPickle && pickle_.kind(state) == PickleKind::kTuple &&
                       pickle_.items(state).size() == 2;
  auto parts = tuple(is_pair ? pickle_.items(state).front() : state, 4);
  if (pickle_.kind(parts[0]) == PickleKind::kInteger && parts.size() > 4) {
    parts = parts.subspan(1);  // the version, which has always been 1
  }
  const bool says_order =
      pickle_.kind(parts[2]) == PickleKind::kBool || pickle_.kind(parts[2]) == PickleKind::kInteger;
  if (!says_order) {
    throw_corrupt("an array whose order can't be told");
  }
  const bool fortran = pickle_.kind(parts[2]) == PickleKind::kBool ? pickle_.boolean(parts[2])
                                                                   : pickle_.integer(parts[2]) != 0;
  return checked({parts[1], parts[0], parts[3], fortran});
}

// (version, shape, dtype, is Fortran, data, mask, fill value), data and mask in the same order.
NumpyValue PickledNumpy::from_masked(PickleId state) {
  NumpyValue value = from_state(state);
  constexpr std::size_t kMask = 5;
  const auto parts = pickle_.items(state);  // a tuple, or there would be no value
  const auto range = parts.size() > kMask ? pickled_bytes(pickle_, parts[kMask]) : std::nullopt;
  PickledArray mask = value.array;
  mask.dtype = std::make_shared<const Dtype>(parse_descr("|b1"));
  mask.nbytes = element_count(mask.shape);
  mask.data = range.value_or(PickleRange{});
  const bool is_plain =
      value.elements == kNoPickle && value.array.dtype->kind != DtypeKind::kStruct;
  if (is_plain && range && may_stand_for(range->form, range->length, mask.nbytes)) {
    value.mask = std::move(mask);
  } else {
    value.note = "the mask of a masked array isn't shown";
  }
  return value;
}

NumpyValue PickledNumpy::from_buffer(PickleId arguments) {
  const auto parts = tuple(arguments, 3);
  const auto order = parts.size() > 3 ? pickle_.text(parts[3]).value_or("") : "C";
  if (order == "K" && parts.size() > 4) {
    return checked({parts[1], parts[2], parts[0], false, parts[4]});
  }
  if (order != "C" && order != "F") {
    throw_corrupt("an array whose order can't be told");
  }
  return checked({parts[1], parts[2], parts[0], order == "F"});
}

NumpyValue PickledNumpy::from_scalar(PickleId arguments) {
  const auto parts = tuple(arguments, 2);
  return checked({parts[0], kNoPickle, parts[1], false});
}

NumpyValue PickledNumpy::checked(const Parts& parts) {
  NumpyValue value;
  PickledArray& array = value.array;
  array.dtype = dtypes_.read(parts.dtype);
  array.shape = parts.shape == kNoPickle ? Shape() : pickled_shape(pickle_, parts.shape);
  if (array.dtype->has_objects) {
    const bool is_list = pickle_.kind(parts.data) == PickleKind::kList;
    if (!is_list || pickle_.items(parts.data).size() != element_count(array.shape)) {
      throw_corrupt("an array of objects that isn't a list of ", element_count(array.shape));
    }
    value.elements = parts.data;
    if (array.dtype->kind == DtypeKind::kStruct) {
      value.names = field_names(parts.dtype);
      value.note = "of fields with objects only the arrays in them are shown";
    }
    return value;
  }
  array.fortran_order = parts.fortran_order && array.shape.size() > 1;
  array.nbytes = data_bytes(array.shape, array.dtype->itemsize);
  const auto range = pickled_bytes(pickle_, parts.data);
  if (!range) {
    throw_corrupt("an array whose data is no bytes");
  }
  array.data = *range;
  if (parts.axes != kNoPickle) {
    put_axes_in_order(array, parts.axes);
  }
  if (!may_stand_for(range->form, range->length, array.nbytes)) {
    throw_corrupt("an array of ", array.nbytes, " bytes, ", shape_text(array.shape), " of ",
                  array.dtype->itemsize, ", with data of ", range->length);
  }
  return value;
}

// In the order of the tuples that stand for the elements. Precondition: a structured type that was
// read.
std::span<const PickleId> PickledNumpy::field_names(PickleId dtype) const {
  constexpr std::size_t kNames = 3;
  return pickle_.items(pickle_.items(pickle_.call(dtype).state)[kNames]);
}

// `array` has the stored shape; it gets that of the array whose axes are the stored ones in the
// order of `axes`.
void PickledNumpy::put_axes_in_order(PickledArray& array, PickleId axes) const {
  const Shape order = pickled_shape(pickle_, axes);
  const Shape stored = array.shape;
  std::vector<bool> taken(stored.size());
  const auto is_new = [&](std::uint64_t axis) {
    const bool fits = axis < taken.size() && !taken[axis];
    if (fits) {
      taken[axis] = true;
    }
    return fits;
  };
  if (order.size() != stored.size() || !std::ranges::all_of(order, is_new)) {
    throw_corrupt("axes ", shape_text(order), " of a shape ", shape_text(stored));
  }
  array.axes.assign(order.begin(), order.end());
  std::ranges::transform(order, array.shape.begin(), [&](std::uint64_t i) { return stored[i]; });
}

}  // namespace npyfs
