// Where the elements of an array go whose axes are stored in another order, and the copying.
//
// Axes of length 1 count for nothing, neighbours in both orders are one axis, and what lies
// together in both is one item. A stretch of the result is covered by few boxes: the axes before
// one are fixed, that one runs over a range (the box's rows), all behind it run whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "npyfs/source/source.h"

namespace npyfs {

// The stretch of the result that is wanted: pieces of memory one after another, all of one size but
// the last.
class Target {
 public:
  // `begin`: offset of the first piece in the result. Precondition: there is one, none is empty.
  Target(std::uint64_t begin, std::vector<std::span<std::byte>> pieces);

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }

  // Where what begins at `offset` goes, up to the end of a piece. Precondition: it lies inside.
  std::span<std::byte> at(std::uint64_t offset) const;

  // Keeps what of `bytes`, which belong at `offset`, lies inside.
  void store(std::uint64_t offset, Bytes bytes) const;

 private:
  std::uint64_t begin_;
  std::uint64_t end_;
  std::vector<std::span<std::byte>> pieces_;
};

// All numbers are bytes, but for extents and rows.
class AxisOrder {
 public:
  // Items from this size on are worth a read of their own and go straight to where they belong.
  static constexpr std::uint64_t kWideItem = 4096;

  // The result has `shape`; its axis i is the stored array's axis `axes[i]`. Precondition: `axes`
  // has each axis once; shape times itemsize is below 2^63, not 0.
  AxisOrder(const std::vector<std::uint64_t>& shape, const std::vector<std::size_t>& axes,
            std::uint64_t itemsize);

  // Whether both orders agree; nothing below may be called then.
  bool changes_nothing() const { return axes_.empty(); }

  std::uint64_t itemsize() const { return itemsize_; }

  // How much of the result goes through runs of `run` bytes of the source, or all of it.
  std::uint64_t stretch_of_runs(std::uint64_t run) const;

  // The result is a sequence of such slices that have the same place in the source.
  std::uint64_t slice() const;

  // What of the source [begin, end) of the result may need: first, and one past the last.
  std::pair<std::uint64_t, std::uint64_t> source_range(std::uint64_t begin,
                                                       std::uint64_t end) const;

  // Fills `target`. With `ascending` the source is read from front to back, box by box, at the
  // price of narrower copies. Throws what reading `source` throws, and Error (EINTR) if cancelled.
  void copy(const Source& source, const Target& target, bool ascending) const;

 private:
  struct Axis {
    std::uint64_t extent = 1;
    std::uint64_t in = 0;   // of the source from one index to the next
    std::uint64_t out = 0;  // of the result
  };
  // What of a result has the same indices before `axis`, from a whole slice of it on.
  struct Box {
    std::uint64_t first = 0;
    std::uint64_t rows = 0;
    std::size_t axis = 0;
  };
  friend class BoxCopy;

  void copy_wide(const Source& source, const Target& target) const;
  Box box_of(std::uint64_t first, std::uint64_t last, std::size_t axis) const;

  // Where in the source the result's byte at `offset` is.
  std::uint64_t place(std::uint64_t offset) const;
  // The first axis on which two bytes of the result differ; the last axis if there is none.
  std::size_t parting_axis(std::uint64_t a, std::uint64_t b) const;

  std::vector<Axis> axes_;  // in the result's order; two or more, none shorter than 2
  std::uint64_t itemsize_;
};

}  // namespace npyfs
