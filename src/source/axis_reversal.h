// Where each element of a Fortran-order array goes when its axes are reversed, and the copying.
//
// A stretch of the result is covered by few boxes: the axes before one are fixed, that one runs
// over a range (the box's rows), all behind it run whole (its columns). In the source the elements
// of a column follow one another, in the result those of a row.
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

  // Where [offset, offset + length) goes; null unless all of it goes into one piece.
  std::byte* find(std::uint64_t offset, std::size_t length) const;

  // Keeps what of `bytes`, which belong at `offset`, lies inside.
  void store(std::uint64_t offset, Bytes bytes) const;

 private:
  std::uint64_t begin_;
  std::uint64_t end_;
  std::vector<std::span<std::byte>> pieces_;
};

class AxisReversal {
 public:
  // Elements from this size on are read straight to where they go.
  static constexpr std::uint64_t kWideItem = 4096;

  // Precondition: two axes or more, none shorter than 2; shape times itemsize is below 2^63, not 0.
  AxisReversal(std::vector<std::uint64_t> shape, std::uint64_t itemsize);

  std::uint64_t itemsize() const { return itemsize_; }

  // Elements of the result that share an index on the first axis.
  std::uint64_t row_length() const { return stride_out_.front(); }

  // The bytes of the source that [begin, end) of the result may need: first, and one past the last.
  std::pair<std::uint64_t, std::uint64_t> source_range(std::uint64_t begin,
                                                       std::uint64_t end) const;

  // Fills `target`. With `ascending` the source is read from front to back, box by box, at the
  // price of narrower copies. Throws what reading `source` throws, and Error (EINTR) if cancelled.
  void copy(const Source& source, const Target& target, bool ascending) const;

 private:
  // Elements of a result, all with the same indices before `axis`, from a whole slice of it on.
  struct Box {
    std::uint64_t first = 0;  // element of the result
    std::uint64_t rows = 0;
    std::size_t axis = 0;
  };
  friend class BoxCopy;

  void copy_wide(const Source& source, const Target& target) const;
  Box box_of(std::uint64_t first, std::uint64_t last, std::size_t axis) const;

  // The index on `axis` of an element of the result, and the element's place in the source.
  std::uint64_t index(std::uint64_t element, std::size_t axis) const;
  std::uint64_t place(std::uint64_t element) const;
  // The first axis on which two elements differ; the last axis if there is none.
  std::size_t parting_axis(std::uint64_t a, std::uint64_t b) const;

  std::vector<std::uint64_t> shape_;
  std::uint64_t itemsize_;
  std::vector<std::uint64_t> stride_in_;   // of each axis in the source, in elements
  std::vector<std::uint64_t> stride_out_;  // of each axis in the result, in elements
};

}  // namespace npyfs
