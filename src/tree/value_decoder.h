// The bytes of NumPy's numeric types as numbers one can calculate with.
#pragma once

#include <span>
#include <variant>

#include "npyfs/base/bytes.h"
#include "npyfs/format/dtype.h"

namespace npyfs {

// Fills `values` from that many elements at the front of `bytes`, big- or little-endian. NaT is
// NaN, a complex number is its absolute value: NaN if a part is, else infinite if a part is.
template <typename Real>
using Decode = void (*)(Bytes bytes, bool big_endian, std::span<Real> values);

// double where that holds every value of the type, else long double; monostate for what isn't a
// number, and for the types plain NumPy lacks.
using AnyDecode = std::variant<std::monostate, Decode<double>, Decode<long double>>;
AnyDecode decode_of(const Dtype& dtype);

// Of complex64, little-endian where big_endian is false: what the values of complex32 come as.
Decode<double> decode_complex64();

}  // namespace npyfs
