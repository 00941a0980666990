// The header of a .npy image, in and out. Layout and rules: numpy/lib/format.py.
//
// What is accepted is more than what NumPy writes: the Python literal may use any spelling,
// alignment and padding, and descrs NumPy doesn't know, since other writers do. Nothing is ever
// evaluated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/format/dtype.h"
#include "npyfs/format/shape.h"
#include "npyfs/source/source.h"

namespace npyfs {

// The most that may have to be read before npy_header_size can answer.
inline constexpr std::size_t kNpyPrefixSize = 12;

// Longest header text that is read; np.load wants max_header_size= from 10,000 on.
inline constexpr std::size_t kMaxNpyHeader = std::size_t{16} << 20;

struct NpyHeader {
  Dtype dtype;
  Shape shape;
  std::vector<std::string> notes;  // what is unusual: "nonstandard …", "needs_max_header_size N"
  std::uint64_t data_offset = 0;   // bytes before the data
  std::uint64_t count = 0;         // elements
  std::uint64_t nbytes = 0;        // count * itemsize; says nothing if dtype.has_objects
  std::uint8_t major = 1;
  std::uint8_t minor = 0;
  bool fortran_order = false;
};

bool has_npy_magic(Bytes bytes);

// Bytes from the start of the image to its data, told from the first 12 (or all there are). Throws
// Error: EIO without the magic, if the bytes end too early or the length passes kMaxNpyHeader;
// EOPNOTSUPP for a version other than 1.0, 2.0 and 3.0.
std::uint64_t npy_header_size(Bytes first_bytes);

// `bytes` begin with a whole header; what follows it is ignored. Throws Error like npy_header_size,
// and EIO if the header isn't a dictionary of descr, fortran_order and shape, or its sizes
// overflow.
NpyHeader parse_npy_header(Bytes bytes);

// The header at the start of `source`, from one small read or, if it is longer, one more. Throws
// Error like parse_npy_header and Source::read, and EIO if the header runs past the end.
NpyHeader read_npy_header(const Source& source);

// The same where the first bytes of `source` are at hand: kNpyPrefixSize of them, or all there are.
NpyHeader read_npy_header(const Source& source, Bytes head);

// Magic, length and dictionary as NumPy >= 1.24 writes them, byte for byte: version 1.0 unless the
// text is too long (2.0) or isn't Latin-1 (3.0). `descr_repr` as from descr_repr(). Throws Error
// (EIO) if the text passes kMaxNpyHeader.
std::string write_npy_header(std::string_view descr_repr, ShapeView shape, bool fortran_order);

}  // namespace npyfs
