// The float32 values of element types that plain NumPy lacks, decoded as they are read.
//
// A value is that of its code alone and exact: float32 holds every value of every type here.
// Nothing is kept between reads: decoding is faster than looking in a cache.
#pragma once

#include <array>
#include <cstdint>

#include "npyfs/source/source.h"

namespace npyfs {

// How the codes are stored. Names are those of ml_dtypes.
enum class Code : std::uint8_t {
  // Two bytes a value. complex32 is two kFloat16, bcomplex32 two kBfloat16: their values in order
  // are the array as complex64.
  kBfloat16,
  kBfloat16Big,  // big-endian
  kFloat16,
  kFloat16Big,
  // A byte a value. Of types narrower than a byte the low bits count, the others are ignored.
  kFloat8E3m4,
  kFloat8E4m3,
  kFloat8E4m3b11fnuz,
  kFloat8E4m3fn,
  kFloat8E4m3fnuz,
  kFloat8E5m2,
  kFloat8E5m2fnuz,
  kFloat8E8m0fnu,
  kFloat6E2m3fn,
  kFloat6E3m2fn,
  kFloat4E2m1fn,
  kInt1,
  kInt2,
  kInt4,
  kUint1,
  kUint2,
  kUint4,
  // Two values a byte, the first in the low four bits.
  kFloat4E2m1fnPacked,
  kInt4Packed,
  kUint4Packed,
};

// The values as little-endian float32: `codes` grown twofold, fourfold, or eightfold if packed.
// Throws Error (EIO) if `codes` ends within a code, or the result would pass 2^63 bytes.
SourcePtr widen(SourcePtr codes, Code code);

// The value of each byte, as float32. A NaN is 0x7FC00000 with the sign of its code. Precondition:
// one of the codes that take a byte a value.
std::array<std::uint32_t, 256> widen_table(Code code);

}  // namespace npyfs
