#include "npyfs/format/shape.h"

#include <algorithm>
#include <optional>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"

namespace npyfs {
namespace {

// Offsets in files are signed, and so are NumPy's sizes.
constexpr std::uint64_t kMost = INT64_MAX;

std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  const auto result = checked_multiply(a, b);
  return result && *result <= kMost ? result : std::nullopt;
}

}  // namespace

std::uint64_t element_count(ShapeView shape) {
  if (std::ranges::find(shape, 0U) != shape.end()) {
    return 0;
  }
  std::uint64_t count = 1;
  for (const std::uint64_t length : shape) {
    const auto next = product(count, length);
    if (!next) {
      throw_corrupt("shape ", shape_text(shape), " has more than 2^63 elements");
    }
    count = *next;
  }
  return count;
}

std::uint64_t data_bytes(ShapeView shape, std::uint64_t itemsize) {
  const auto bytes = product(element_count(shape), itemsize);
  if (!bytes) {
    throw_corrupt("shape ", shape_text(shape), " of ", itemsize,
                  " bytes an element has more than 2^63 bytes");
  }
  return *bytes;
}

Shape u8view_shape(ShapeView shape, std::uint64_t itemsize) {
  if (shape.empty()) {
    return {itemsize};
  }
  const auto last = product(shape.back(), itemsize);
  if (!last) {
    throw_corrupt("the last axis of shape ", shape_text(shape), " times ", itemsize,
                  " bytes passes 2^63");
  }
  Shape bytes(shape.begin(), shape.end());
  bytes.back() = *last;
  return bytes;
}

std::string shape_text(ShapeView shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += i == 0 ? "" : ", ";
    out += std::to_string(shape[i]);
  }
  out += shape.size() == 1 ? ",)" : ")";
  return out;
}

}  // namespace npyfs
