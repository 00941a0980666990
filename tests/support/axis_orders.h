// Arrays whose axes are stored in another order than they are read in.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "npyfs/source/source.h"

namespace npyfs {

using Extents = std::vector<std::uint64_t>;
using Axes = std::vector<std::size_t>;

inline std::size_t bytes_in(const Extents& shape, std::size_t itemsize) {
  return std::accumulate(shape.begin(), shape.end(), itemsize, std::multiplies<>());
}

// That Fortran stores so many axes in.
inline Axes reversed_axes(std::size_t count) {
  Axes axes(count);
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

// Of the array whose axis i is axis `axes[i]` of the `stored` one.
inline Extents shape_of(const Extents& stored, const Axes& axes) {
  Extents shape;
  for (const std::size_t axis : axes) {
    shape.push_back(stored[axis]);
  }
  return shape;
}

// What c_order should give, element by element.
inline std::vector<std::byte> in_order(Bytes data, const Extents& shape, const Axes& axes,
                                       std::size_t itemsize) {
  Extents index(shape.size());
  Extents stored(shape.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    stored[axes[i]] = shape[i];
  }
  std::vector<std::byte> result;
  result.reserve(data.size());
  while (result.size() < data.size()) {
    Extents stored_index(shape.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      stored_index[axes[i]] = index[i];
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      place = place * stored[i] + stored_index[i];
    }
    const auto element = data.subspan(place * itemsize, itemsize);
    result.insert(result.end(), element.begin(), element.end());
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) {
        break;
      }
      index[i] = 0;
    }
  }
  return result;
}

// Counts what is read, and may say that it has to be decoded.
class PassCounter final : public Source {
 public:
  explicit PassCounter(std::vector<std::byte> bytes, bool decoded = false)
      : bytes_(std::move(bytes)), decoded_(decoded) {}
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    ++reads;
    bytes_read += dst.size();
    const std::uint64_t last_end = last_end_.exchange(offset + dst.size());
    if (offset < last_end) {
      ++backward;
      back_over += last_end - offset;
    }
    if (on_read) {
      on_read();
    }
    std::ranges::copy(Bytes(bytes_).subspan(offset, dst.size()), dst.begin());
  }
  bool at_hand(std::uint64_t, std::uint64_t) const override { return !decoded_; }

  mutable std::atomic<std::uint64_t> reads = 0;
  mutable std::atomic<std::uint64_t> bytes_read = 0;
  mutable std::atomic<std::uint64_t> backward = 0;   // reads that begin before the last one's end
  mutable std::atomic<std::uint64_t> back_over = 0;  // bytes, by all of those
  std::function<void()> on_read;

 private:
  std::vector<std::byte> bytes_;
  bool decoded_;
  mutable std::atomic<std::uint64_t> last_end_ = 0;
};

}  // namespace npyfs
