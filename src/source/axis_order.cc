#include "source/axis_order.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "npyfs/source/cancel.h"

#include "source/box_copy.h"

namespace npyfs {

Target::Target(std::uint64_t begin, std::vector<std::span<std::byte>> pieces)
    : begin_(begin), end_(begin), pieces_(std::move(pieces)) {
  assert(!pieces_.empty());
  for (const auto& piece : pieces_) {
    end_ += piece.size();
  }
}

std::span<std::byte> Target::at(std::uint64_t offset) const {
  const std::uint64_t piece_size = pieces_.front().size();
  return pieces_[(offset - begin_) / piece_size].subspan((offset - begin_) % piece_size);
}

void Target::store(std::uint64_t offset, Bytes bytes) const {
  std::uint64_t to = std::max(offset, begin_);
  const std::uint64_t end = std::min(offset + bytes.size(), end_);
  while (to < end) {
    const auto piece = at(to);
    const std::uint64_t length = std::min(end - to, piece.size());
    std::memcpy(piece.data(), bytes.data() + (to - offset), length);
    to += length;
  }
}

AxisOrder::AxisOrder(const std::vector<std::uint64_t>& shape, const std::vector<std::size_t>& axes,
                     std::uint64_t itemsize)
    : itemsize_(itemsize) {
  assert(axes.size() == shape.size());
  std::vector<std::size_t> stored(axes.size());  // which axis of the result each one is
  for (std::size_t i = 0; i < axes.size(); ++i) {
    stored[axes[i]] = i;
  }
  std::vector<std::uint64_t> in(shape.size());
  std::uint64_t stride = itemsize;
  for (std::size_t i = stored.size(); i-- > 0;) {
    in[stored[i]] = stride;
    stride *= shape[stored[i]];
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) {
      continue;
    }
    if (!axes_.empty() && axes_.back().in == shape[i] * in[i]) {
      axes_.back() = {axes_.back().extent * shape[i], in[i]};
    } else {
      axes_.push_back({shape[i], in[i]});
    }
  }
  if (!axes_.empty() && axes_.back().in == itemsize) {
    itemsize_ *= axes_.back().extent;
    axes_.pop_back();
  }
  stride = itemsize_;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    axes_[i].out = stride;
    stride *= axes_[i].extent;
  }
}

std::uint64_t AxisOrder::stretch_of_runs(std::uint64_t run) const {
  std::uint64_t stretch = itemsize_;
  std::uint64_t together = itemsize_;  // of the source
  while (together < run) {
    const auto next = std::ranges::find(axes_, together, &Axis::in);
    if (next == axes_.end()) {
      break;
    }
    const std::uint64_t count = std::min(next->extent, (run - 1) / together + 1);
    stretch = std::max(stretch, count * next->out);
    together *= count;
  }
  return stretch;
}

std::uint64_t AxisOrder::slice() const {
  const auto moved =
      std::ranges::find_if(axes_, [](const Axis& axis) { return axis.in != axis.out; });
  return moved->extent * moved->out;
}

std::uint64_t AxisOrder::place(std::uint64_t offset) const {
  std::uint64_t place = 0;
  for (const Axis& axis : axes_) {
    place += offset / axis.out * axis.in;
    offset %= axis.out;
  }
  return place + offset;
}

std::size_t AxisOrder::parting_axis(std::uint64_t a, std::uint64_t b) const {
  std::size_t axis = 0;
  while (axis + 1 < axes_.size() && a / axes_[axis].out == b / axes_[axis].out) {
    ++axis;
  }
  return axis;
}

std::pair<std::uint64_t, std::uint64_t> AxisOrder::source_range(std::uint64_t begin,
                                                                std::uint64_t end) const {
  // Axes before the parting one are fixed; those behind it may take any index.
  const std::size_t parting = parting_axis(begin, end - 1);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const Axis& axis = axes_[i];
    const bool whole = i > parting;
    low += (whole ? 0 : begin / axis.out % axis.extent) * axis.in;
    high += (whole ? axis.extent - 1 : (end - 1) / axis.out % axis.extent) * axis.in;
  }
  return {low, high + itemsize_};
}

AxisOrder::Box AxisOrder::box_of(std::uint64_t first, std::uint64_t last, std::size_t axis) const {
  const std::uint64_t row = axes_[axis].out;
  return {first / row * row, last / row - first / row + 1, axis};
}

void AxisOrder::copy(const Source& source, const Target& target, bool ascending) const {
  if (itemsize_ >= kWideItem) {
    copy_wide(source, target);
    return;
  }
  BoxCopy boxes(*this, source, target, ascending);
  std::uint64_t at = target.begin() / itemsize_ * itemsize_;
  const std::uint64_t end = ((target.end() - 1) / itemsize_ + 1) * itemsize_;
  while (at < end) {
    // The widest box from here of which enough is wanted; its slices at both ends are read whole.
    std::uint64_t stop = end;
    std::size_t axis = parting_axis(at, stop - 1);
    Box box = box_of(at, stop - 1, axis);
    const std::uint64_t worth = ascending ? 4 : 2;  // a box more is one more pass over the source
    while (box.rows * axes_[axis].out > worth * (stop - at)) {
      stop = std::min(stop, box.first + axes_[axis].out);
      axis = parting_axis(at, stop - 1);
      box = box_of(at, stop - 1, axis);
    }
    boxes.copy(box);
    at = stop;
  }
}

// Item by item, in the order of the source.
void AxisOrder::copy_wide(const Source& source, const Target& target) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> items;  // places in source and result
  for (std::uint64_t at = target.begin(); at < target.end(); at += itemsize_ - at % itemsize_) {
    items.emplace_back(place(at), at);
  }
  std::ranges::sort(items);
  for (const auto& item : items) {
    std::uint64_t from = item.first;
    std::uint64_t to = item.second;
    const std::uint64_t end = std::min(to - to % itemsize_ + itemsize_, target.end());
    while (to < end) {
      throw_if_cancelled();
      const auto piece = target.at(to);
      const std::uint64_t length = std::min(end - to, piece.size());
      source.read(from, piece.first(length));
      from += length;
      to += length;
    }
  }
}

}  // namespace npyfs
