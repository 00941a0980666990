// Every panel is read front to back and written in segments of the result that are at least a few
// cache lines long where the array allows it. Of a row's items those that are neighbours in the
// result are read from columns that are neighbours in the source as far as can be. A segment is
// copied for sixteen rows before the next one, so that a cache line of the buffer is used up while
// it is near.
#include "source/box_copy.h"

#include <algorithm>

#include "npyfs/source/cancel.h"

#include "source/turn.h"

namespace npyfs {
namespace {

// Bytes of a segment at most, unless it is one item.
constexpr std::size_t kLongSegment = 1024;
// Bytes of the result that a panel's row should have in one place.
constexpr std::uint64_t kWideRow = 256;
constexpr std::uint64_t kRowsAtOnce = 16;

}  // namespace

// The panels of a box, those that are later in the source later.
void BoxCopy::copy(const AxisOrder::Box& box) {
  if (buffer_ == nullptr) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(kPanel);
    rows_ = std::make_unique_for_overwrite<std::byte[]>(
        kRowsAtOnce * std::max<std::size_t>(kLongSegment, order_.itemsize()));
  }
  choose_axes(box);
  choose_steps();
  const std::uint64_t box_place = order_.place(box.first);
  bool more = true;
  while (more) {
    throw_if_cancelled();
    std::uint64_t place = box_place;
    std::uint64_t offset = box.first;
    for (Axis& axis : axes_) {
      axis.count = std::min(axis.step, axis.extent - axis.begin);
      place += axis.begin * axis.in;
      offset += axis.begin * axis.out;
    }
    arrange_columns();
    read_panel(place);
    write_panel(offset);
    more = false;
    for (std::size_t i = 0; i < axes_.size() && !more; ++i) {
      axes_[i].begin += axes_[i].count;
      more = axes_[i].begin < axes_[i].extent;
      axes_[i].begin = more ? axes_[i].begin : 0;
    }
  }
}

void BoxCopy::choose_axes(const AxisOrder::Box& box) {
  axes_.clear();
  for (std::size_t i = box.axis; i < order_.axes_.size(); ++i) {
    const auto& axis = order_.axes_[i];
    axes_.push_back({i == box.axis ? box.rows : axis.extent, axis.in, axis.out});
  }
  std::ranges::sort(axes_, {}, &Axis::in);
  // Rows lie close in the source; what is closest in the result is a row itself.
  row_axis_ = axes_.size() > 1 && axes_.front().out == order_.itemsize() ? 1 : 0;
  columns_.clear();
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (i != row_axis_) {
      columns_.push_back(i);
    }
  }
  std::ranges::sort(columns_, std::greater(), [&](std::size_t i) { return axes_[i].out; });
}

// Settles what makes a panel and what of it is read at once: the first axis up to a long run, then
// what makes wide rows, then what follows in the source.
void BoxCopy::choose_steps() {
  std::uint64_t run = order_.itemsize();  // of the buffer, with the axes so far
  Axis& first = axes_.front();
  together_ = first.in - run <= kGap ? 1 : 0;
  first.pitch = together_ == 1 ? first.in : run;
  const std::uint64_t longest = ascending_ ? kPanel : kLongRun;
  first.step = std::min(first.extent, (longest - run) / first.pitch + 1);
  run += (first.step - 1) * first.pitch;
  std::uint64_t rest = ascending_ ? 1 : widen_rows(run);  // indices of the axes to come
  bool whole = first.step == first.extent;
  for (std::size_t i = 1; i < axes_.size(); ++i) {
    Axis& axis = axes_[i];
    const bool near = whole && together_ == i && axis.in - run <= kGap &&
                      axis.in <= kPanel / rest;  // run * rest fits in any case
    together_ += near ? 1 : 0;
    axis.pitch = near ? axis.in : run;
    rest /= axis.step;
    if (whole) {
      axis.step = std::clamp(kPanel / rest / axis.pitch, axis.step, axis.extent);
    }
    run += (axis.step - 1) * axis.pitch;
    whole = whole && axis.step == axis.extent;
  }
}

// Makes the panel wide in the result, while runs of the source are `run` bytes. Returns how many of
// them that takes.
std::uint64_t BoxCopy::widen_rows(std::uint64_t run) {
  const std::uint64_t itemsize = order_.itemsize();
  const std::uint64_t wide =
      std::min(kPanel / run, std::max<std::uint64_t>(1, kWideRow / itemsize));
  std::uint64_t width = 1;  // items of a row that lie together
  std::uint64_t runs = 1;
  for (std::size_t i = columns_.size(); i-- > 0 && width < wide;) {
    Axis& axis = axes_[columns_[i]];
    if (axis.out != width * itemsize) {
      break;
    }
    if (columns_[i] > 0) {
      axis.step = std::min(axis.extent, wide / width);
      runs *= axis.step;
    }
    width *= axis.step;
  }
  return runs;
}

// Lists the panel's columns in the order of the result, in segments.
void BoxCopy::arrange_columns() {
  places_.clear();
  segments_.clear();
  const std::uint64_t itemsize = order_.itemsize();
  const std::size_t most = std::max<std::size_t>(1, kLongSegment / itemsize);
  std::vector<std::uint64_t> index(columns_.size());
  std::uint64_t place = 0;
  std::uint64_t out = 0;
  bool more = true;
  while (more) {
    const bool continues = !segments_.empty() && segments_.back().count < most &&
                           segments_.back().out + segments_.back().count * itemsize == out;
    if (continues) {
      ++segments_.back().count;
    } else {
      segments_.push_back({places_.size(), 1, out});
    }
    places_.push_back(static_cast<std::uint32_t>(place));
    more = false;
    for (std::size_t i = columns_.size(); i-- > 0 && !more;) {
      const Axis& axis = axes_[columns_[i]];
      place += axis.pitch;
      out += axis.out;
      more = ++index[i] < axis.count;
      if (!more) {
        place -= index[i] * axis.pitch;
        out -= index[i] * axis.out;
        index[i] = 0;
      }
    }
  }
}

// Reads the panel that begins at `place` of the source.
void BoxCopy::read_panel(std::uint64_t place) {
  std::uint64_t length = order_.itemsize();
  for (std::size_t i = 0; i < together_; ++i) {
    length += (axes_[i].count - 1) * axes_[i].pitch;
  }
  std::vector<std::uint64_t> index(axes_.size());
  std::byte* to = buffer_.get();
  bool more = true;
  while (more) {
    source_.read(place, {to, length});
    more = false;
    for (std::size_t i = together_; i < axes_.size() && !more; ++i) {
      const Axis& axis = axes_[i];
      place += axis.in;
      to += axis.pitch;
      more = ++index[i] < axis.count;
      if (!more) {
        place -= index[i] * axis.in;
        to -= index[i] * axis.pitch;
        index[i] = 0;
      }
    }
  }
}

// `offset`: where the panel begins in the result.
void BoxCopy::write_panel(std::uint64_t offset) {
  const Axis& rows = axes_[row_axis_];
  for (std::uint64_t row = 0; row < rows.count; row += kRowsAtOnce) {
    for (const Segment& segment : segments_) {
      write_rows(segment, row, offset + row * rows.out + segment.out);
    }
  }
}

// From `row` on, which goes to `offset` of the result. Rows that lie a power of two apart would
// drive each other out of the processor's cache, so they are put together beside one another first.
void BoxCopy::write_rows(const Segment& segment, std::uint64_t row, std::uint64_t offset) {
  const Axis& axis = axes_[row_axis_];
  const Columns columns = {buffer_.get() + row * axis.pitch,
                           std::span(places_).subspan(segment.first, segment.count), axis.pitch,
                           order_.itemsize()};
  const std::size_t length = segment.count * columns.itemsize;
  const std::size_t rows = std::min(kRowsAtOnce, axis.count - row);
  turn(columns, rows, rows_.get());
  if (axis.out == length) {
    target_.store(offset, Bytes(rows_.get(), rows * length));
    return;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    target_.store(offset + i * axis.out, Bytes(rows_.get() + i * length, length));
  }
}

}  // namespace npyfs
