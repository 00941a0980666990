#include "source/axis_reversal.h"

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

std::byte* Target::find(std::uint64_t offset, std::size_t length) const {
  if (offset < begin_ || offset >= end_) {
    return nullptr;
  }
  const std::uint64_t piece_size = pieces_.front().size();
  const std::uint64_t at = offset - begin_;
  const auto& piece = pieces_[at / piece_size];
  const std::uint64_t within = at % piece_size;
  return length <= piece.size() - within ? piece.data() + within : nullptr;
}

void Target::store(std::uint64_t offset, Bytes bytes) const {
  const std::uint64_t piece_size = pieces_.front().size();
  std::uint64_t at = std::max(offset, begin_);
  const std::uint64_t end = std::min(offset + bytes.size(), end_);
  while (at < end) {
    const auto& piece = pieces_[(at - begin_) / piece_size];
    const std::uint64_t within = (at - begin_) % piece_size;
    const std::uint64_t length = std::min(end - at, piece.size() - within);
    std::memcpy(piece.data() + within, bytes.data() + (at - offset), length);
    at += length;
  }
}

AxisReversal::AxisReversal(std::vector<std::uint64_t> shape, std::uint64_t itemsize)
    : shape_(std::move(shape)),
      itemsize_(itemsize),
      stride_in_(shape_.size()),
      stride_out_(shape_.size()) {
  assert(shape_.size() >= 2);
  std::uint64_t stride = 1;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    stride_in_[axis] = stride;
    stride *= shape_[axis];
  }
  stride = 1;
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    stride_out_[axis] = stride;
    stride *= shape_[axis];
  }
}

std::uint64_t AxisReversal::index(std::uint64_t element, std::size_t axis) const {
  return element / stride_out_[axis] % shape_[axis];
}

std::uint64_t AxisReversal::place(std::uint64_t element) const {
  std::uint64_t place = 0;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    place += element / stride_out_[axis] * stride_in_[axis];
    element %= stride_out_[axis];
  }
  return place;
}

std::size_t AxisReversal::parting_axis(std::uint64_t a, std::uint64_t b) const {
  std::size_t axis = 0;
  while (axis + 1 < shape_.size() && a / stride_out_[axis] == b / stride_out_[axis]) {
    ++axis;
  }
  return axis;
}

std::pair<std::uint64_t, std::uint64_t> AxisReversal::source_range(std::uint64_t begin,
                                                                   std::uint64_t end) const {
  const std::uint64_t first = begin / itemsize_;
  const std::uint64_t last = (end - 1) / itemsize_;
  // Axes before the parting one are fixed; those behind it may take any index.
  const std::size_t parting = parting_axis(first, last);
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    const bool whole = axis > parting;
    low += (whole ? 0 : index(first, axis)) * stride_in_[axis];
    high += (whole ? shape_[axis] - 1 : index(last, axis)) * stride_in_[axis];
  }
  return {low * itemsize_, (high + 1) * itemsize_};
}

AxisReversal::Box AxisReversal::box_of(std::uint64_t first, std::uint64_t last,
                                       std::size_t axis) const {
  const std::uint64_t stride = stride_out_[axis];
  return {first / stride * stride, last / stride - first / stride + 1, axis};
}

void AxisReversal::copy(const Source& source, const Target& target, bool ascending) const {
  if (itemsize_ >= kWideItem) {
    copy_wide(source, target);
    return;
  }
  BoxCopy boxes(*this, source, target, ascending);
  std::uint64_t element = target.begin() / itemsize_;
  const std::uint64_t end = (target.end() - 1) / itemsize_ + 1;
  while (element < end) {
    // The widest box from here of which enough is wanted; its slices at both ends are read whole.
    std::uint64_t stop = end;
    std::size_t axis = parting_axis(element, stop - 1);
    Box box = box_of(element, stop - 1, axis);
    const std::uint64_t worth = ascending ? 4 : 2;  // a box more is one more pass over the source
    while (box.rows * stride_out_[axis] > worth * (stop - element)) {
      stop = std::min(stop, box.first + stride_out_[axis]);
      axis = parting_axis(element, stop - 1);
      box = box_of(element, stop - 1, axis);
    }
    boxes.copy(box);
    element = stop;
  }
}

void AxisReversal::copy_wide(const Source& source, const Target& target) const {
  for (std::uint64_t at = target.begin(); at < target.end();) {
    throw_if_cancelled();
    const std::uint64_t within = at % itemsize_;
    std::uint64_t length = std::min(itemsize_ - within, target.end() - at);
    // An element may go into several pieces.
    std::byte* to = target.find(at, length);
    while (to == nullptr) {
      length = (length + 1) / 2;
      to = target.find(at, length);
    }
    source.read(place(at / itemsize_) * itemsize_ + within, {to, length});
    at += length;
  }
}

}  // namespace npyfs
