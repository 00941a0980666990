// What is known of an array apart from its bytes and its name. Arrays with equal headers share one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"
#include "npyfs/format/dtype.h"
#include "npyfs/format/npy_header.h"
#include "npyfs/format/shape.h"
#include "npyfs/format/sidecar.h"

namespace npyfs {

// Who told the element type; meta.json's `dtype_from`.
enum class DtypeFrom : std::uint8_t { kHeader, kSidecar, kOption, kContainer };
std::string_view dtype_from_name(DtypeFrom from);

struct ArrayInfo {
  // False if the header couldn't be read: everything but `error` and `stored_size` is then unknown.
  bool known = false;
  Dtype dtype;
  DtypeFrom dtype_from = DtypeFrom::kHeader;
  Shape shape;
  bool fortran_order = false;     // of the stored data, and so of NAME.npy
  std::uint64_t count = 0;        // elements
  std::uint64_t nbytes = 0;       // of the data; 0 if pickled
  std::uint64_t data_offset = 0;  // of the data in NAME.npy
  std::uint8_t npy_major = 1;
  std::uint8_t npy_minor = 0;

  // Empty if the stored bytes are a .npy image, which is then NAME.npy as it is. Otherwise the
  // stored bytes are the data, and this goes in front of them.
  std::string header;

  bool pickled = false;  // objects: the data is one pickle, never read as numbers

  // Where the data lies in the stored bytes.
  std::uint64_t stored_data_offset() const { return header.empty() ? data_offset : 0; }

  // What is wrong. With `damaged` the data isn't all there, and only NAME.npy is to be had.
  std::optional<Error> error;
  bool damaged = false;

  std::vector<std::string> notes;

  bool has_views() const { return known && !damaged && !pickled; }
};

// What a .npy image of `stored_size` bytes is, from its first bytes: at least npy_header_size of
// them. Never throws for what the image says: damage becomes `error`.
ArrayInfo describe_image(Bytes head, std::uint64_t stored_size);

// The same of the image that `image` is, with what read_npy_header wants of its first bytes.
ArrayInfo describe_image(const Source& image, Bytes head);

// An image that can't be read, and why.
ArrayInfo unreadable_image(const Error& error);

// Header-less data with a header of our own. Throws Error (EIO) with the numbers if `stored_size`
// isn't what shape and item size need.
ArrayInfo describe_data(Dtype dtype, DtypeFrom from, Shape shape, bool fortran_order,
                        std::uint64_t stored_size);

// Header-less data as its sidecar describes it. `head`: its first kSniffSize bytes, or all, to say
// what they are if they don't fit; may be empty. Throws like describe_data, and if the sidecar has
// no shape or no type that is known.
ArrayInfo describe_data(const Sidecar& sidecar, Bytes head, std::uint64_t stored_size);

// Tells an array its element type. A type that doesn't fit becomes its `error`; the bytes stay.
void set_type(ArrayInfo& info, std::string_view type, DtypeFrom from);

// The same from a sidecar, if it has a type; its shape, if it has one, must agree. The order is
// the header's.
void set_type(ArrayInfo& info, const Sidecar& sidecar);

}  // namespace npyfs
