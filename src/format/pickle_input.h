// The stream of a pickle: read forward in small pieces, long strings passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "npyfs/source/source.h"

namespace npyfs {

// Borrows the source. Everything throws Error (EIO) if the stream would end before it.
class PickleInput {
 public:
  // Precondition: begin <= end <= source.size().
  PickleInput(const Source& source, std::uint64_t begin, std::uint64_t end)
      : source_(source), at_(begin), end_(end) {}

  std::uint64_t at() const { return at_; }  // offset in the source of what comes next

  std::uint8_t u8() {
    if (used_ == buffer_.size()) {
      return static_cast<std::uint8_t>(little_endian(1));
    }
    ++at_;
    return std::to_integer<std::uint8_t>(buffer_[used_++]);
  }
  std::uint64_t little_endian(std::size_t width);

  // The next `count` bytes, valid until the next call. Precondition: count <= kLongestTake.
  Bytes take(std::size_t count);

  // What comes up to the end of the line, which is taken too. Throws if it is longer than
  // kLongestTake, newline and all.
  std::string_view line();

  // The same, or nullopt if the line is longer; nothing is taken then.
  std::optional<std::string_view> short_line();

  void pass(std::uint64_t count);

  // Passes over a line of any length; returns how long it was without its end.
  std::uint64_t pass_line();

  static constexpr std::size_t kLongestTake = 4097;

 private:
  // Makes at least `count` bytes ready, if the stream has so many; returns what is ready.
  Bytes ready(std::size_t count);

  const Source& source_;
  std::uint64_t at_;
  const std::uint64_t end_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;       // of the buffer
  std::size_t next_read_ = 0;  // bytes; grows while no string is passed over
  std::uint64_t total_read_ = 0;
};

}  // namespace npyfs
