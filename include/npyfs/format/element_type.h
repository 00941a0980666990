// The element types that plain NumPy lacks and ml_dtypes adds, as ml_dtypes stores them in an
// array: one element in one or more whole bytes, those under eight bits in the low bits of a byte
// of theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace npyfs {

enum class ElementType : std::uint8_t {
  kBfloat16,
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
  kComplex32,
  kBcomplex32,
};

// All of them, in the order of the enumeration.
std::span<const ElementType> element_types();

// The attribute of the ml_dtypes module: "float8_e4m3fn".
std::string_view element_name(ElementType type);

// Bytes an element takes in an array: 1, 2 or 4.
std::uint64_t element_size(ElementType type);

// The type of that exact name, or nullopt.
std::optional<ElementType> element_type_named(std::string_view name);

// complex32 (two float16) and bcomplex32 (two bfloat16).
bool is_complex(ElementType type);

}  // namespace npyfs
