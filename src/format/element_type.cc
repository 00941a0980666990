#include "npyfs/format/element_type.h"

#include <array>
#include <cstddef>

namespace npyfs {
namespace {

struct Entry {
  ElementType type;
  std::string_view name;
  std::uint64_t size;
};

constexpr std::array<Entry, 20> kEntries = {{
    {ElementType::kBfloat16, "bfloat16", 2},
    {ElementType::kFloat8E3m4, "float8_e3m4", 1},
    {ElementType::kFloat8E4m3, "float8_e4m3", 1},
    {ElementType::kFloat8E4m3b11fnuz, "float8_e4m3b11fnuz", 1},
    {ElementType::kFloat8E4m3fn, "float8_e4m3fn", 1},
    {ElementType::kFloat8E4m3fnuz, "float8_e4m3fnuz", 1},
    {ElementType::kFloat8E5m2, "float8_e5m2", 1},
    {ElementType::kFloat8E5m2fnuz, "float8_e5m2fnuz", 1},
    {ElementType::kFloat8E8m0fnu, "float8_e8m0fnu", 1},
    {ElementType::kFloat6E2m3fn, "float6_e2m3fn", 1},
    {ElementType::kFloat6E3m2fn, "float6_e3m2fn", 1},
    {ElementType::kFloat4E2m1fn, "float4_e2m1fn", 1},
    {ElementType::kInt1, "int1", 1},
    {ElementType::kInt2, "int2", 1},
    {ElementType::kInt4, "int4", 1},
    {ElementType::kUint1, "uint1", 1},
    {ElementType::kUint2, "uint2", 1},
    {ElementType::kUint4, "uint4", 1},
    {ElementType::kComplex32, "complex32", 4},
    {ElementType::kBcomplex32, "bcomplex32", 4},
}};

constexpr std::array<ElementType, kEntries.size()> kTypes = [] {
  std::array<ElementType, kEntries.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i) {
    types[i] = kEntries[i].type;
  }
  return types;
}();

constexpr bool in_order() {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (static_cast<std::size_t>(kEntries[i].type) != i) {
      return false;
    }
  }
  return true;
}
static_assert(in_order(), "an entry's place is its type's value");

const Entry& entry(ElementType type) { return kEntries[static_cast<std::size_t>(type)]; }

}  // namespace

std::span<const ElementType> element_types() { return kTypes; }

std::string_view element_name(ElementType type) { return entry(type).name; }

std::uint64_t element_size(ElementType type) { return entry(type).size; }

std::optional<ElementType> element_type_named(std::string_view name) {
  for (const Entry& candidate : kEntries) {
    if (candidate.name == name) {
      return candidate.type;
    }
  }
  return std::nullopt;
}

bool is_complex(ElementType type) {
  return type == ElementType::kComplex32 || type == ElementType::kBcomplex32;
}

}  // namespace npyfs
