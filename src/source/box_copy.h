// Copies boxes of an array whose axes are stored in another order in panels: a sub-range of each of
// the box's axes that is read into one buffer, small enough for the processor's cache, and then
// copied row by row.
//
// How much is read at once depends on what lies between the wanted items: short gaps are read over,
// since skipping them costs more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "source/axis_order.h"

namespace npyfs {

class BoxCopy {
 public:
  static constexpr std::uint64_t kPanel = std::uint64_t{1} << 20;
  // Longer runs of the source gain nothing, and leave the panel fewer columns.
  static constexpr std::uint64_t kLongRun = std::uint64_t{16} << 10;
  // Skipping fewer bytes of the source costs more than reading them.
  static constexpr std::uint64_t kGap = 2048;

  // Borrows all three. `ascending` as in AxisOrder::copy.
  BoxCopy(const AxisOrder& order, const Source& source, const Target& target, bool ascending)
      : order_(order), source_(source), target_(target), ascending_(ascending) {}

  void copy(const AxisOrder::Box& box);

 private:
  // The panel's columns that follow one another in the result.
  struct Segment {
    std::size_t first = 0;  // in places_
    std::size_t count = 0;
    std::uint64_t out = 0;  // in the result, from the panel's first in the same row
  };
  struct Axis {
    std::uint64_t extent = 1;  // of the box
    std::uint64_t in = 0;      // bytes of the source from one index to the next
    std::uint64_t out = 0;     // of the result
    std::uint64_t pitch = 0;   // of the buffer
    std::uint64_t step = 1;    // of the panel: at most so many indices
    std::uint64_t begin = 0;   // of the panel being copied
    std::uint64_t count = 1;
  };

  void choose_axes(const AxisOrder::Box& box);
  void choose_steps();
  std::uint64_t widen_rows(std::uint64_t run);
  void arrange_columns();
  void read_panel(std::uint64_t place);
  void write_panel(std::uint64_t offset);
  void write_rows(const Segment& segment, std::uint64_t row, std::uint64_t offset);

  const AxisOrder& order_;
  const Source& source_;
  const Target& target_;
  const bool ascending_;

  std::unique_ptr<std::byte[]> buffer_;  // the panel, in the order of the source
  std::unique_ptr<std::byte[]> rows_;    // a few rows of a segment
  std::vector<Axis> axes_;               // of the box, in the order of the source
  std::size_t together_ = 0;             // so many of them are read at once
  std::size_t row_axis_ = 0;             // whose indices are the rows
  std::vector<std::size_t> columns_;     // the other axes, in the order of the result
  std::vector<std::uint32_t> places_;    // of the panel's columns in the buffer, likewise
  std::vector<Segment> segments_;
};

}  // namespace npyfs
