// The innermost copying of a transposition: short rows out of columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace npyfs {

// Columns in a buffer: element r of the column at `places[c]` is at from + places[c] + r *
// row_pitch.
struct Columns {
  const std::byte* from = nullptr;
  std::span<const std::uint32_t> places;
  std::size_t row_pitch = 0;
  std::size_t itemsize = 0;
};

// Writes the first `rows` rows of the columns to `to`, one after another.
void turn(const Columns& columns, std::size_t rows, std::byte* to);

}  // namespace npyfs
