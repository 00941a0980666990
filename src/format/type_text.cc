// The letters follow PyArray_TypestrConvert and the aliases of numpy/_core/numerictypes.py, on a
// 64-bit Linux: `l` and `long` have 8 bytes, `g` 16. NumPy reads a lone letter as a C type and a
// letter with a number as kind and bytes, so `b` is int8 while `b1` is bool.
#include "format/type_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "format/time_unit.h"

namespace npyfs {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kOrders = "<>=|!";

// Sorted by name.
constexpr auto kNames = std::to_array<Alias>({
    {"bool", "b1"},         {"bool8", "b1"},     {"bool_", "b1"},       {"byte", "i1"},
    {"bytes", "S0"},        {"bytes_", "S0"},    {"cdouble", "c16"},    {"cfloat", "c16"},
    {"clongdouble", "c32"}, {"complex", "c16"},  {"complex128", "c16"}, {"complex256", "c32"},
    {"complex64", "c8"},    {"complex_", "c16"}, {"csingle", "c8"},     {"double", "f8"},
    {"float", "f8"},        {"float128", "f16"}, {"float16", "f2"},     {"float32", "f4"},
    {"float64", "f8"},      {"float_", "f8"},    {"half", "f2"},        {"int", "i8"},
    {"int16", "i2"},        {"int32", "i4"},     {"int64", "i8"},       {"int8", "i1"},
    {"int_", "i8"},         {"intc", "i4"},      {"intp", "i8"},        {"long", "i8"},
    {"longdouble", "f16"},  {"longlong", "i8"},  {"object", "O8"},      {"object_", "O8"},
    {"short", "i2"},        {"single", "f4"},    {"str", "U0"},         {"str_", "U0"},
    {"string_", "S0"},      {"ubyte", "u1"},     {"uint", "u8"},        {"uint16", "u2"},
    {"uint32", "u4"},       {"uint64", "u8"},    {"uint8", "u1"},       {"uintc", "u4"},
    {"uintp", "u8"},        {"ulong", "u8"},     {"ulonglong", "u8"},   {"unicode_", "U0"},
    {"ushort", "u2"},       {"void", "V0"},
});
static_assert(std::ranges::is_sorted(kNames));

constexpr auto kLetters = std::to_array<Alias>({
    {"?", "b1"}, {"B", "u1"}, {"D", "c16"}, {"F", "c8"}, {"G", "c32"}, {"H", "u2"},
    {"I", "u4"}, {"L", "u8"}, {"M", "M8"},  {"N", "u8"}, {"O", "O8"},  {"P", "u8"},
    {"Q", "u8"}, {"S", "S0"}, {"U", "U0"},  {"V", "V0"}, {"a", "S0"},  {"b", "i1"},
    {"c", "S1"}, {"d", "f8"}, {"e", "f2"},  {"f", "f4"}, {"g", "f16"}, {"h", "i2"},
    {"i", "i4"}, {"l", "i8"}, {"m", "m8"},  {"n", "i8"}, {"p", "i8"},  {"q", "i8"},
});
static_assert(std::ranges::is_sorted(kLetters));

template <std::size_t N>
std::optional<std::string_view> look_up(const std::array<Alias, N>& table, std::string_view name) {
  const auto found = std::ranges::lower_bound(table, name, {}, &Alias::first);
  return found != table.end() && found->first == name ? std::optional(found->second) : std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z';
}

Dtype plain(DtypeKind kind, std::uint64_t itemsize, ByteOrder order) {
  Dtype dtype;
  dtype.kind = kind;
  dtype.itemsize = itemsize;
  const bool orderless = itemsize <= 1 && kind != DtypeKind::kText && kind != DtypeKind::kVoid;
  dtype.order = orderless ? ByteOrder::kNone : order;
  return dtype;
}

Dtype element_dtype(ElementType element, ByteOrder order) {
  Dtype dtype = plain(DtypeKind::kElement, element_size(element), order);
  dtype.element = element;
  dtype.numpy_loads = false;
  return dtype;
}

struct NumericKind {
  char letter;
  DtypeKind kind;
  std::array<std::uint64_t, 4> sizes;  // 0 ends them
};

constexpr NumericKind kNumericKinds[] = {{'b', DtypeKind::kBool, {1}},
                                         {'i', DtypeKind::kInt, {1, 2, 4, 8}},
                                         {'u', DtypeKind::kUint, {1, 2, 4, 8}},
                                         {'f', DtypeKind::kFloat, {2, 4, 8, 16}},
                                         {'c', DtypeKind::kComplex, {8, 16, 32}}};

std::optional<Dtype> numeric_type(char kind, std::uint64_t number, ByteOrder order) {
  for (const NumericKind& numeric : kNumericKinds) {
    if (numeric.letter == kind) {
      const bool known =
          number != 0 && std::ranges::find(numeric.sizes, number) != numeric.sizes.end();
      return known ? std::optional(plain(numeric.kind, number, order)) : std::nullopt;
    }
  }
  return std::nullopt;
}

// What ml_dtypes and others write for types of their own, as far as it is one type's mark.
std::optional<Dtype> user_defined_type(char kind, std::uint64_t number, ByteOrder order,
                                       bool explicit_order) {
  if (kind == 'V' && number == 2 && explicit_order) {
    Dtype dtype = element_dtype(ElementType::kBfloat16, order);
    dtype.numpy_loads = true;
    return dtype;
  }
  if (kind == 'f' && number == 1) {
    return element_dtype(ElementType::kFloat8E5m2, order);
  }
  if (kind == 'c' && number == 4) {
    return element_dtype(ElementType::kComplex32, order);
  }
  if (kind == 'g' && number == 2) {
    return element_dtype(ElementType::kBfloat16, order);
  }
  if (kind == 'W' && number == 4) {  // both complex types of ml_dtypes 0.6
    Dtype dtype = plain(DtypeKind::kVoid, number, order);
    dtype.numpy_loads = false;
    return dtype;
  }
  return std::nullopt;
}

// `suffix` is what follows the number: the unit of M8 and m8, nothing else.
std::optional<Dtype> sized_type(char kind, std::uint64_t number, char order_mark,
                                std::string_view suffix) {
  const ByteOrder order = order_mark == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  const bool explicit_order = order_mark == '<' || order_mark == '>' || order_mark == '=';
  Dtype unknown = plain(DtypeKind::kUnknown, number, order);
  unknown.numpy_loads = false;
  if ((kind == 'M' || kind == 'm') && number == 8) {
    Dtype dtype = plain(kind == 'M' ? DtypeKind::kDatetime : DtypeKind::kTimedelta, 8, order);
    return set_time_unit(dtype, suffix) && order_mark != '!' ? dtype : unknown;
  }
  if (!suffix.empty() || !(is_letter(kind) || kind == '?' || is_digit(kind))) {
    return std::nullopt;
  }
  if (kind == 'U') {
    if (number > INT64_MAX / 4) {
      return std::nullopt;
    }
    unknown.itemsize = number * 4;
    return order_mark == '!' ? unknown : plain(DtypeKind::kText, number * 4, order);
  }
  if (kind == 'O') {  // pointers of whatever machine wrote it; NumPy counts its own
    Dtype dtype = plain(DtypeKind::kObject, 8, ByteOrder::kNone);
    dtype.has_objects = true;
    dtype.numpy_loads = number == 4 || number == 8;
    return dtype;
  }
  if (order_mark == '!') {
    return unknown;
  }
  if (kind == 'S' || kind == 'a') {
    return plain(DtypeKind::kBytes, number, ByteOrder::kNone);
  }
  if (auto dtype = user_defined_type(kind, number, order, explicit_order)) {
    return dtype;
  }
  if (kind == 'V') {
    return plain(DtypeKind::kVoid, number, explicit_order ? order : ByteOrder::kNone);
  }
  return numeric_type(kind, number, order).value_or(unknown);
}

std::optional<Dtype> named_type(std::string_view name, char order_mark) {
  const ByteOrder order = order_mark == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
  if (const auto element = element_type_named(name)) {
    return element_dtype(*element, order);
  }
  if (name.starts_with("datetime64")) {
    return sized_type('M', 8, order_mark, name.substr(10));
  }
  if (name.starts_with("timedelta64")) {
    return sized_type('m', 8, order_mark, name.substr(11));
  }
  const auto alias = look_up(kNames, name);
  if (!alias) {
    return std::nullopt;
  }
  auto dtype = sized_type(alias->front(), *decimal(alias->substr(1)), order_mark, "");
  dtype->numpy_loads = order_mark == '\0';
  return dtype;
}

}  // namespace

std::optional<Dtype> type_of_text(std::string_view text) {
  char order_mark = '\0';
  if (!text.empty() && kOrders.find(text.front()) != std::string_view::npos) {
    order_mark = text.front();
    text.remove_prefix(1);
  }
  if (text.size() > 1 && is_letter(text[1])) {
    return named_type(text, order_mark);
  }
  if (text.size() == 1) {
    const auto alias = look_up(kLetters, text);
    return alias ? sized_type(alias->front(), *decimal(alias->substr(1)), order_mark, "")
                 : std::nullopt;
  }
  if (text.empty()) {
    return std::nullopt;
  }
  const std::size_t digits_end = std::min(text.find_first_not_of("0123456789", 1), text.size());
  const auto number = decimal(text.substr(1, digits_end - 1));
  return number ? sized_type(text.front(), *number, order_mark, text.substr(digits_end))
                : std::nullopt;
}

std::string loadable_text(const Dtype& dtype) {
  const bool user_defined = dtype.kind == DtypeKind::kElement || dtype.kind == DtypeKind::kUnknown;
  const char no_order = user_defined ? '<' : '|';
  std::string out(1, dtype.order == ByteOrder::kBig      ? '>'
                     : dtype.order == ByteOrder::kLittle ? '<'
                                                         : no_order);
  switch (dtype.kind) {
    case DtypeKind::kBool:
      return out + "b1";
    case DtypeKind::kInt:
      return out + "i" + std::to_string(dtype.itemsize);
    case DtypeKind::kUint:
      return out + "u" + std::to_string(dtype.itemsize);
    case DtypeKind::kFloat:
      return out + "f" + std::to_string(dtype.itemsize);
    case DtypeKind::kComplex:
      return out + "c" + std::to_string(dtype.itemsize);
    case DtypeKind::kDatetime:
      return out + "M8" + time_unit_text(dtype);
    case DtypeKind::kTimedelta:
      return out + "m8" + time_unit_text(dtype);
    case DtypeKind::kBytes:
      return out + "S" + std::to_string(dtype.itemsize);
    case DtypeKind::kText:
      return out + "U" + std::to_string(dtype.itemsize / 4);
    case DtypeKind::kObject:
      return out + "O";
    default:
      return out + "V" + std::to_string(dtype.itemsize);
  }
}

}  // namespace npyfs
