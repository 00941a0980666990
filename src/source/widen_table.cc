// The tables of the one-byte types. A float type is its widths, its bias, and which codes aren't
// numbers; every value follows from these.
#include <bit>
#include <cassert>
#include <cmath>

#include "npyfs/source/widen.h"

namespace npyfs {
namespace {

// Which codes stand for infinity and NaN.
enum class Special {
  kNone,       // every code is a number
  kIeee,       // the highest exponent: infinity, and NaN if the mantissa isn't 0
  kLastIsNan,  // only the code of all ones, of either sign, is NaN
  kZeroIsNan,  // there is no negative zero: its code is NaN, and there is no infinity
};

struct FloatLayout {
  unsigned exponent_bits;
  unsigned mantissa_bits;
  int bias;
  Special special;
};

constexpr std::uint32_t kNan = 0x7FC00000;
constexpr std::uint32_t kInfinity = 0x7F800000;

std::uint32_t float_value(const FloatLayout& layout, unsigned code) {
  const unsigned magnitude_bits = layout.exponent_bits + layout.mantissa_bits;
  const unsigned magnitude = code & ((1U << magnitude_bits) - 1);
  const std::uint32_t sign = (code >> magnitude_bits & 1U) << 31;
  const unsigned exponent = magnitude >> layout.mantissa_bits;
  const unsigned mantissa = magnitude & ((1U << layout.mantissa_bits) - 1);
  const bool highest = exponent == (1U << layout.exponent_bits) - 1;
  switch (layout.special) {
    case Special::kIeee:
      if (highest) {
        return sign | (mantissa == 0 ? kInfinity : kNan);
      }
      break;
    case Special::kLastIsNan:
      if (magnitude == (1U << magnitude_bits) - 1) {
        return sign | kNan;
      }
      break;
    case Special::kZeroIsNan:
      if (magnitude == 0 && sign != 0) {
        return sign | kNan;
      }
      break;
    case Special::kNone:
      break;
  }
  const unsigned implied = exponent == 0 ? 0 : 1U << layout.mantissa_bits;
  const int scale = static_cast<int>(exponent == 0 ? 1 : exponent) - layout.bias -
                    static_cast<int>(layout.mantissa_bits);
  return sign |
         std::bit_cast<std::uint32_t>(std::ldexp(static_cast<float>(implied + mantissa), scale));
}

// Only an exponent; code 0 is 2^-127, which float32 has as a subnormal.
std::uint32_t exponent_value(unsigned code) {
  if (code == 0xFF) {
    return kNan;
  }
  return code == 0 ? 0x00400000 : code << 23;
}

std::uint32_t integer_value(unsigned bits, bool is_signed, unsigned code) {
  const int low = static_cast<int>(code & ((1U << bits) - 1));
  const bool negative = is_signed && (low >> (bits - 1)) != 0;
  return std::bit_cast<std::uint32_t>(static_cast<float>(negative ? low - (1 << bits) : low));
}

std::uint32_t value(Code type, unsigned code) {
  switch (type) {
    case Code::kFloat8E3m4:
      return float_value({3, 4, 3, Special::kIeee}, code);
    case Code::kFloat8E4m3:
      return float_value({4, 3, 7, Special::kIeee}, code);
    case Code::kFloat8E4m3b11fnuz:
      return float_value({4, 3, 11, Special::kZeroIsNan}, code);
    case Code::kFloat8E4m3fn:
      return float_value({4, 3, 7, Special::kLastIsNan}, code);
    case Code::kFloat8E4m3fnuz:
      return float_value({4, 3, 8, Special::kZeroIsNan}, code);
    case Code::kFloat8E5m2:
      return float_value({5, 2, 15, Special::kIeee}, code);
    case Code::kFloat8E5m2fnuz:
      return float_value({5, 2, 16, Special::kZeroIsNan}, code);
    case Code::kFloat8E8m0fnu:
      return exponent_value(code);
    case Code::kFloat6E2m3fn:
      return float_value({2, 3, 1, Special::kNone}, code);
    case Code::kFloat6E3m2fn:
      return float_value({3, 2, 3, Special::kNone}, code);
    case Code::kFloat4E2m1fn:
      return float_value({2, 1, 1, Special::kNone}, code);
    case Code::kInt1:
      return integer_value(1, true, code);
    case Code::kInt2:
      return integer_value(2, true, code);
    case Code::kInt4:
      return integer_value(4, true, code);
    case Code::kUint1:
      return integer_value(1, false, code);
    case Code::kUint2:
      return integer_value(2, false, code);
    case Code::kUint4:
      return integer_value(4, false, code);
    default:
      assert(false);
      return kNan;
  }
}

}  // namespace

std::array<std::uint32_t, 256> widen_table(Code code) {
  std::array<std::uint32_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    table[byte] = value(code, byte);
  }
  return table;
}

}  // namespace npyfs
