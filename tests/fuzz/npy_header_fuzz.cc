// Any bytes as a .npy image: a header or an Error, and what is read must survive being written
// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "npyfs/base/error.h"
#include "npyfs/format/npy_header.h"

namespace npyfs {
namespace {

// Such names have no other spelling to be written in.
constexpr std::string_view kNotUtf8 = "nonstandard: header isn't UTF-8";

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check(const NpyHeader& header, std::size_t size) {
  require(header.data_offset <= size && header.shape.size() <= kMaxDimensions);
  candidates(header.dtype);
  descr_json(header.dtype);
  const Dtype dtype = loadable(header.dtype);
  require(dtype.itemsize == header.dtype.itemsize);
  // A header as NumPy writes it, of what NumPy loads, is read for the same.
  const std::string written =
      write_npy_header(descr_repr(dtype), header.shape, header.fortran_order);
  const NpyHeader again = parse_npy_header(bytes_of(written));
  require(again.shape == header.shape);
  const bool is_text = std::ranges::find(header.notes, kNotUtf8) == header.notes.end();
  require(!is_text || descr_repr(again.dtype) == descr_repr(dtype));
  require(again.nbytes == header.nbytes && again.data_offset == written.size());
  require(again.dtype.numpy_loads && again.fortran_order == header.fortran_order);
  if (const auto name = dtype_name(header.dtype)) {
    parse_descr(*name);
  }
}

}  // namespace
}  // namespace npyfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const npyfs::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    npyfs::check(npyfs::parse_npy_header(bytes), size);
  } catch (const npyfs::Error&) {
    return 0;
  }
  return 0;
}
