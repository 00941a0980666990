#include "tree/value_decoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace npyfs {
namespace {

template <typename T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <typename T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// Stored types that C++ has no name for.
struct Half {
  std::uint16_t bits;
};
struct Extended {  // 80 bits in 16 bytes
  std::uint64_t fraction;
  std::uint64_t rest;
};
struct Moment {  // datetime64, timedelta64
  std::int64_t ticks;
};
struct Truth {
  std::uint8_t byte;
};

template <typename Stored>
Stored load(const std::byte* at, bool big_endian) {
  std::array<std::byte, sizeof(Stored)> bytes;
  std::memcpy(bytes.data(), at, sizeof(Stored));
  if (big_endian) {
    std::ranges::reverse(bytes);
  }
  Stored value;
  std::memcpy(&value, bytes.data(), sizeof(Stored));
  return value;
}

template <typename Real, typename Number>
Real real_of(Number number) {
  return static_cast<Real>(number);
}

template <typename Real>
Real real_of(Truth truth) {
  return truth.byte != 0 ? 1 : 0;
}

template <typename Real>
Real real_of(Moment moment) {
  return moment.ticks == INT64_MIN ? kNan<Real> : static_cast<Real>(moment.ticks);
}

template <typename Real>
Real real_of(Half half) {
  const int exponent = (half.bits >> 10) & 0x1F;
  const int fraction = half.bits & 0x3FF;
  Real value = 0;
  if (exponent == 0x1F) {
    value = fraction == 0 ? kInfinity<Real> : kNan<Real>;
  } else {
    value = exponent == 0 ? std::ldexp(Real(fraction), -24)
                          : std::ldexp(Real(fraction + 0x400), exponent - 25);
  }
  return half.bits >> 15 != 0 ? -value : value;
}

// The leading bit of the fraction is stored; a number without it that isn't subnormal is invalid to
// the processor, and NaN to NumPy.
template <typename Real>
Real real_of(Extended extended) {
  constexpr std::uint64_t kLeading = std::uint64_t{1} << 63;
  const int exponent = static_cast<int>(extended.rest & 0x7FFF);
  Real value = 0;
  if (exponent != 0 && (extended.fraction & kLeading) == 0) {
    value = kNan<Real>;
  } else if (exponent == 0x7FFF) {
    value = extended.fraction == kLeading ? kInfinity<Real> : kNan<Real>;
  } else {
    value = std::ldexp(static_cast<Real>(extended.fraction), std::max(exponent, 1) - 16383 - 63);
  }
  return (extended.rest & 0x8000) != 0 ? -value : value;
}

template <typename Stored, typename Real>
void decode(Bytes bytes, bool big_endian, std::span<Real> values) {
  const std::byte* at = bytes.data();
  for (Real& value : values) {
    value = real_of<Real>(load<Stored>(at, big_endian));
    at += sizeof(Stored);
  }
}

template <typename Part, typename Real>
Real magnitude(Real real, Real imaginary) {
  if (std::isnan(real) || std::isnan(imaginary)) {
    return kNan<Real>;
  }
  constexpr bool kSquaresFit = sizeof(Part) < sizeof(Real);  // and hypot is slow
  return kSquaresFit ? std::sqrt(real * real + imaginary * imaginary) : std::hypot(real, imaginary);
}

template <typename Part, typename Real>
void decode_complex(Bytes bytes, bool big_endian, std::span<Real> values) {
  const std::byte* at = bytes.data();
  for (Real& value : values) {
    value = magnitude<Part>(real_of<Real>(load<Part>(at, big_endian)),
                            real_of<Real>(load<Part>(at + sizeof(Part), big_endian)));
    at += 2 * sizeof(Part);
  }
}

// Of the type of that size.
template <typename One, typename Two, typename Four, typename Eight>
AnyDecode decode_integer(std::uint64_t itemsize) {
  switch (itemsize) {
    case 1:
      return &decode<One, double>;
    case 2:
      return &decode<Two, double>;
    case 4:
      return &decode<Four, double>;
    case 8:
      return &decode<Eight, long double>;
    default:
      return {};
  }
}

AnyDecode decode_float(std::uint64_t itemsize) {
  switch (itemsize) {
    case 2:
      return &decode<Half, double>;
    case 4:
      return &decode<float, double>;
    case 8:
      return &decode<double, double>;
    case 16:
      return &decode<Extended, long double>;
    default:
      return {};
  }
}

// The absolute value of a complex128 may pass the largest double.
AnyDecode decode_complex_of(std::uint64_t itemsize) {
  switch (itemsize) {
    case 8:
      return &decode_complex<float, double>;
    case 16:
      return &decode_complex<double, long double>;
    case 32:
      return &decode_complex<Extended, long double>;
    default:
      return {};
  }
}

}  // namespace

AnyDecode decode_of(const Dtype& dtype) {
  switch (dtype.kind) {
    case DtypeKind::kBool:
      return &decode<Truth, double>;
    case DtypeKind::kInt:
      return decode_integer<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(dtype.itemsize);
    case DtypeKind::kUint:
      return decode_integer<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
          dtype.itemsize);
    case DtypeKind::kFloat:
      return decode_float(dtype.itemsize);
    case DtypeKind::kComplex:
      return decode_complex_of(dtype.itemsize);
    case DtypeKind::kDatetime:
    case DtypeKind::kTimedelta:
      return &decode<Moment, long double>;
    default:
      return {};
  }
}

Decode<double> decode_complex64() { return &decode_complex<float, double>; }

}  // namespace npyfs
