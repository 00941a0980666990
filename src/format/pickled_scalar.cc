// Only types of one piece are looked at, by themselves: a key must cost no more than its own bytes,
// however large the type that the pickle gives it.
#include "format/pickled_scalar.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "npyfs/base/error.h"
#include "npyfs/format/dtype.h"

#include "format/pickled_bytes.h"
#include "format/pickled_numpy.h"
#include "format/python_literal.h"

namespace npyfs {
namespace {

// The type of a scalar, its bytes in the order of this machine.
std::optional<Dtype> simple_type(const Pickle& pickle, PickleId id) {
  if (pickle.kind(id) != PickleKind::kCall) {
    return std::nullopt;
  }
  const PickleCall& call = pickle.call(id);
  const bool has_parts = pickle.is_global(call.callable, "numpy", "dtype") &&
                         pickle.kind(call.arguments) == PickleKind::kTuple &&
                         !pickle.items(call.arguments).empty() && call.state != kNoPickle &&
                         pickle.kind(call.state) == PickleKind::kTuple &&
                         pickle.items(call.state).size() > 1;
  if (!has_parts) {
    return std::nullopt;
  }
  const auto type = pickle.text(pickle.items(call.arguments).front()).value_or("");
  const auto order = pickle.text(pickle.items(call.state)[1]).value_or("");
  constexpr std::size_t kLongest = 16;
  if (type.size() + order.size() > kLongest) {
    return std::nullopt;
  }
  try {
    return parse_descr(std::string(order).append(type));
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Precondition: at most 8 bytes.
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

// The double that the shortest decimal of a float32 stands for: 0.1, not 0.10000000149.
double widened(float value) {
  std::array<char, 32> decimal{};
  const auto [end, error] = std::to_chars(decimal.data(), decimal.data() + decimal.size(), value);
  double result = static_cast<double>(value);
  if (error == std::errc()) {
    std::from_chars(decimal.data(), end, result);
  }
  return result;
}

PickledScalar real_of(std::string_view bytes) {
  const std::uint64_t bits = little_endian(bytes);
  if (bytes.size() == sizeof(double)) {
    return std::bit_cast<double>(bits);
  }
  if (bytes.size() == sizeof(float)) {
    return widened(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return {};
}

PickledScalar text_of_characters(std::string_view bytes, bool big_endian) {
  constexpr std::size_t kWidth = 4;
  constexpr std::uint64_t kPastTheLast = 0x110000;
  ScalarText result;
  for (; bytes.size() >= kWidth; bytes.remove_prefix(kWidth)) {
    std::string character(bytes.substr(0, kWidth));
    if (big_endian) {
      std::ranges::reverse(character);
    }
    const std::uint64_t number = little_endian(character);
    if (number >= kPastTheLast) {
      return {};
    }
    append_utf8(result.text, static_cast<std::uint32_t>(number));
  }
  result.text.erase(result.text.find_last_not_of('\0') + 1);
  return result;
}

}  // namespace

PickledScalar pickled_scalar(const Pickle& pickle, PickleId id) {
  const PickleCall& call = pickle.call(id);
  if (!is_numpy_function(pickle, call.callable, "scalar") ||
      pickle.kind(call.arguments) != PickleKind::kTuple ||
      pickle.items(call.arguments).size() != 2) {
    return {};
  }
  const auto parts = pickle.items(call.arguments);
  const auto dtype = simple_type(pickle, parts[0]);
  auto bytes = short_bytes(pickle, parts[1]);
  if (!dtype || !bytes || bytes->size() != dtype->itemsize) {
    return {};
  }
  const bool big_endian = dtype->order == ByteOrder::kBig;
  if (dtype->kind == DtypeKind::kText) {
    return text_of_characters(*bytes, big_endian);
  }
  if (dtype->kind == DtypeKind::kBytes) {
    bytes->erase(bytes->find_last_not_of('\0') + 1);
    return ScalarBytes{*bytes};
  }
  if (bytes->size() > sizeof(std::uint64_t)) {
    return {};
  }
  if (big_endian) {
    std::ranges::reverse(*bytes);
  }
  const std::uint64_t bits = little_endian(*bytes);
  switch (dtype->kind) {
    case DtypeKind::kBool:
      return bits != 0;
    case DtypeKind::kInt: {
      const auto unused = static_cast<int>(8 * (sizeof(bits) - bytes->size()));
      return static_cast<std::int64_t>(bits << unused) >> unused;
    }
    case DtypeKind::kUint:
      return bits;
    case DtypeKind::kFloat:
      return real_of(*bytes);
    default:
      return {};
  }
}

}  // namespace npyfs
