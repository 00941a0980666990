// Copies boxes of a Fortran-order array in panels: a sub-range of a box's rows and columns that is
// read into one buffer, small enough for the processor's cache, and then copied row by row.
//
// How much is read at once depends on what lies between the wanted elements: short gaps are read
// over, since skipping them costs more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "source/axis_reversal.h"
#include "source/turn.h"

namespace npyfs {

class BoxCopy {
 public:
  static constexpr std::uint64_t kPanel = std::uint64_t{1} << 20;
  // Longer runs of the source gain nothing, and leave the panel fewer columns.
  static constexpr std::uint64_t kLongRun = std::uint64_t{16} << 10;
  // Skipping fewer bytes of the source costs more than reading them.
  static constexpr std::uint64_t kGap = 2048;

  // Borrows all three. `ascending` as in AxisReversal::copy.
  BoxCopy(const AxisReversal& array, const Source& source, const Target& target, bool ascending)
      : array_(array), source_(source), target_(target), ascending_(ascending) {}

  void copy(const AxisReversal::Box& box);

 private:
  // The panel's columns that follow one another in the result.
  struct Segment {
    std::size_t first = 0;  // in places_
    std::size_t count = 0;
    std::uint64_t out = 0;  // element of the result, from the panel's first in the same row
  };
  // An axis behind the box's own, whose indices are the columns.
  struct Axis {
    std::uint64_t extent = 1;  // of the box
    std::uint64_t step = 1;    // of the panel: at most so many indices
    std::uint64_t begin = 0;   // of the panel being copied
    std::uint64_t count = 1;
    std::uint64_t in = 0;   // elements of the source from one index to the next
    std::uint64_t out = 0;  // the same in the result
  };

  void choose_reading(const AxisReversal::Box& box);
  void choose_steps(std::uint64_t most_columns);
  void copy_columns(const AxisReversal::Box& box);
  void arrange_columns();
  void read_panel(std::uint64_t place, std::uint64_t rows);
  void read_run(std::uint64_t place, std::uint64_t rows, std::span<std::byte> to) const;
  void write_panel(std::uint64_t element, std::uint64_t rows, std::uint64_t row_length);
  void write_rows(const Columns& columns, std::size_t rows, std::uint64_t element,
                  std::uint64_t row_length);

  const AxisReversal& array_;
  const Source& source_;
  const Target& target_;
  const bool ascending_;

  std::unique_ptr<std::byte[]> buffer_;  // the panel, column by column
  std::unique_ptr<std::byte[]> rows_;    // a few rows of a segment
  std::vector<Axis> axes_;               // of the columns, in the order of the array's
  std::uint64_t row_in_ = 0;             // elements of the source from one row to the next
  std::uint64_t row_pitch_ = 0;          // bytes of the buffer from one row to the next
  std::uint64_t column_pitch_ = 0;       // and from one column to the next
  std::uint64_t most_rows_ = 0;          // of a panel
  bool row_by_row_ = false;              // each element is read by itself
  bool joined_ = false;                  // neighbouring columns are read together
  std::vector<std::uint32_t>
      places_;  // of the panel's columns in the buffer, in the result's order
  std::vector<Segment> segments_;
};

}  // namespace npyfs
