// Checked reading of hostile bytes: a cursor that can't run off, and arithmetic that can't wrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace npyfs {

using Bytes = std::span<const std::byte>;

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view text_view(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// nullopt if the true result needs more than 64 bits.
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}
constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

// Reads little-endian integers and pieces from the front of some bytes, which must outlive it.
// Every read that would pass the end throws Error (EIO).
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes) : rest_(bytes) {}

  std::size_t remaining() const { return rest_.size(); }
  Bytes take(std::size_t count);
  void skip(std::size_t count) { take(count); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(little_endian(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(little_endian(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(little_endian(4)); }
  std::uint64_t u64() { return little_endian(8); }

 private:
  std::uint64_t little_endian(std::size_t width);

  Bytes rest_;
};

}  // namespace npyfs
