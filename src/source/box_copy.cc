// Every panel is read front to back and written in segments of the result that are at least a few
// cache lines long where the array allows it. A segment is copied for sixteen rows before the next
// one, so that a cache line of the buffer is used up while it is near.
#include "source/box_copy.h"

#include <algorithm>

#include "npyfs/source/cancel.h"

#include "source/turn.h"

namespace npyfs {
namespace {

// Bytes of a segment at most, unless it is one element.
constexpr std::size_t kLongSegment = 1024;
// Bytes of the result that a panel's row should have in one place.
constexpr std::uint64_t kWideRow = 256;
constexpr std::uint64_t kRowsAtOnce = 16;

}  // namespace

void BoxCopy::copy(const AxisReversal::Box& box) {
  if (buffer_ == nullptr) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(kPanel);
    rows_ = std::make_unique_for_overwrite<std::byte[]>(
        kRowsAtOnce * std::max<std::size_t>(kLongSegment, array_.itemsize_));
  }
  axes_.clear();
  for (std::size_t axis = box.axis + 1; axis < array_.shape_.size(); ++axis) {
    axes_.push_back({.extent = array_.shape_[axis],
                     .in = array_.stride_in_[axis],
                     .out = array_.stride_out_[axis]});
  }
  row_in_ = array_.stride_in_[box.axis];
  choose_reading(box);
  copy_columns(box);
}

// Settles what one read takes, and how many rows and columns make a panel.
void BoxCopy::choose_reading(const AxisReversal::Box& box) {
  const std::uint64_t itemsize = array_.itemsize_;
  row_by_row_ = box.rows > 1 && (row_in_ - 1) * itemsize > kGap;
  row_pitch_ = row_by_row_ ? itemsize : row_in_ * itemsize;
  const std::uint64_t longest = ascending_ ? kPanel : kLongRun;
  most_rows_ =
      std::min(box.rows, std::max<std::uint64_t>(1, (longest - itemsize) / row_pitch_ + 1));
  const std::uint64_t run = (most_rows_ - 1) * row_pitch_ + itemsize;
  column_pitch_ = run;
  joined_ = false;
  if (!row_by_row_ && most_rows_ == box.rows && !axes_.empty()) {
    const std::uint64_t column = axes_.front().in * itemsize;
    joined_ = column - run <= kGap;
    column_pitch_ = joined_ ? column : run;
  }
  choose_steps(std::max<std::uint64_t>(1, (kPanel - run) / column_pitch_ + 1));
}

// Which columns make a panel: those that are neighbours in the result until its rows are wide
// enough, then those that are neighbours in the source.
void BoxCopy::choose_steps(std::uint64_t most_columns) {
  std::uint64_t columns = 1;
  if (!ascending_) {
    const std::uint64_t wide =
        std::min(most_columns, std::max<std::uint64_t>(1, kWideRow / array_.itemsize_));
    for (std::size_t i = axes_.size(); i-- > 0;) {
      axes_[i].step = std::min(axes_[i].extent, wide / columns);
      columns *= axes_[i].step;
      if (axes_[i].step < axes_[i].extent) {
        break;
      }
    }
  }
  for (Axis& axis : axes_) {
    columns /= axis.step;
    axis.step = std::max(axis.step, std::min(axis.extent, most_columns / columns));
    columns *= axis.step;
    if (axis.step < axis.extent) {
      break;
    }
  }
}

// The panels of a box, those that are later in the source later.
void BoxCopy::copy_columns(const AxisReversal::Box& box) {
  const std::uint64_t row_length = array_.stride_out_[box.axis];
  const std::uint64_t box_place = array_.place(box.first);
  bool more = true;
  while (more) {
    std::uint64_t place = box_place;
    std::uint64_t element = box.first;
    for (Axis& axis : axes_) {
      axis.count = std::min(axis.step, axis.extent - axis.begin);
      place += axis.begin * axis.in;
      element += axis.begin * axis.out;
    }
    arrange_columns();
    for (std::uint64_t row = 0; row < box.rows; row += most_rows_) {
      throw_if_cancelled();
      const std::uint64_t rows = std::min(most_rows_, box.rows - row);
      read_panel(place + row * row_in_, rows);
      write_panel(element + row * row_length, rows, row_length);
    }
    more = false;
    for (std::size_t i = 0; i < axes_.size() && !more; ++i) {
      axes_[i].begin += axes_[i].count;
      more = axes_[i].begin < axes_[i].extent;
      axes_[i].begin = more ? axes_[i].begin : 0;
    }
  }
}

// Lists the panel's columns in the order of the result, in segments.
void BoxCopy::arrange_columns() {
  places_.clear();
  segments_.clear();
  const std::size_t most = std::max<std::size_t>(1, kLongSegment / array_.itemsize_);
  std::vector<std::uint64_t> pitch;  // bytes of the buffer from one index to the next
  std::uint64_t columns = 1;
  for (const Axis& axis : axes_) {
    pitch.push_back(columns * column_pitch_);
    columns *= axis.count;
  }
  std::vector<std::uint64_t> index(axes_.size());
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  for (std::uint64_t column = 0; column < columns; ++column) {
    const bool continues = !segments_.empty() && segments_.back().count < most &&
                           segments_.back().out + segments_.back().count == out;
    if (continues) {
      ++segments_.back().count;
    } else {
      segments_.push_back({places_.size(), 1, out});
    }
    places_.push_back(static_cast<std::uint32_t>(in));
    for (std::size_t i = axes_.size(); i-- > 0;) {
      in += pitch[i];
      out += axes_[i].out;
      if (++index[i] < axes_[i].count) {
        break;
      }
      in -= index[i] * pitch[i];
      out -= index[i] * axes_[i].out;
      index[i] = 0;
    }
  }
}

// Reads `rows` of the panel's columns, the first of which begins at element `place` of the source.
void BoxCopy::read_panel(std::uint64_t place, std::uint64_t rows) {
  const std::uint64_t run = (rows - 1) * row_pitch_ + array_.itemsize_;
  std::uint64_t columns = 1;  // read together
  std::size_t first = 0;      // of the axes whose columns aren't
  while (joined_ && first < axes_.size()) {
    columns *= axes_[first].count;
    const bool whole = axes_[first].count == axes_[first].extent;
    ++first;
    if (!whole) {
      break;
    }
  }
  std::vector<std::uint64_t> index(axes_.size());
  std::byte* to = buffer_.get();
  bool more = true;
  while (more) {
    read_run(place, rows, {to, (columns - 1) * column_pitch_ + run});
    to += columns * column_pitch_;
    more = false;
    for (std::size_t i = first; i < axes_.size() && !more; ++i) {
      place += axes_[i].in;
      more = ++index[i] < axes_[i].count;
      if (!more) {
        place -= index[i] * axes_[i].in;
        index[i] = 0;
      }
    }
  }
}

void BoxCopy::read_run(std::uint64_t place, std::uint64_t rows, std::span<std::byte> to) const {
  const std::uint64_t itemsize = array_.itemsize_;
  if (!row_by_row_) {
    source_.read(place * itemsize, to);
    return;
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    source_.read((place + row * row_in_) * itemsize, to.subspan(row * itemsize, itemsize));
  }
}

void BoxCopy::write_panel(std::uint64_t element, std::uint64_t rows, std::uint64_t row_length) {
  for (std::uint64_t row = 0; row < rows; row += kRowsAtOnce) {
    for (const Segment& segment : segments_) {
      const Columns columns = {buffer_.get() + row * row_pitch_,
                               std::span(places_).subspan(segment.first, segment.count), row_pitch_,
                               array_.itemsize_};
      write_rows(columns, std::min(kRowsAtOnce, rows - row),
                 element + row * row_length + segment.out, row_length);
    }
  }
}

// `element`: where the first row of `columns` begins in the result. Rows of the result that lie a
// power of two apart would drive each other out of the processor's cache, so they are put together
// beside one another first.
void BoxCopy::write_rows(const Columns& columns, std::size_t rows, std::uint64_t element,
                         std::uint64_t row_length) {
  const std::size_t length = columns.places.size() * columns.itemsize;
  turn(columns, rows, rows_.get());
  for (std::size_t row = 0; row < rows; ++row) {
    target_.store((element + row * row_length) * columns.itemsize,
                  Bytes(rows_.get() + row * length, length));
  }
}

}  // namespace npyfs
