// A JSON file beside an array that says what its bytes are: {"shape": [3], "dtype": "float8_e5m2"},
// as people write it by hand, or a meta.json of npyfs that came along with a copy of a mount. Bytes
// without a header need both; an image has its shape and order in the header, and may need no more
// than the dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "npyfs/base/bytes.h"
#include "npyfs/format/dtype.h"
#include "npyfs/format/shape.h"

namespace npyfs {

// A larger file isn't taken for a sidecar. The meta.json of a structured array of 5,000 fields has
// about 0.6 MiB.
inline constexpr std::size_t kMaxSidecarSize = std::size_t{4} << 20;

struct Sidecar {
  std::optional<Shape> shape;
  std::optional<std::string> dtype;  // a name for parse_type
  bool fortran_order = false;        // "fortran_order": true or "order": "F"

  // Only in a meta.json of npyfs ("npyfs": 1), where each may be missing.
  bool ours = false;
  std::string name;
  std::string dtype_from;
  std::optional<Dtype> descr;                  // as parse_descr_json reads it
  std::map<std::string, std::uint64_t> files;  // suffix ("npy", "raw", "u8view.npy") to bytes
};

// nullopt if `json` isn't a sidecar: no JSON object, too large or too deep, neither a shape of at
// most 64 lengths nor a dtype that is a string. Other keys are ignored. Doesn't throw.
std::optional<Sidecar> parse_sidecar(Bytes json);

// What the bytes' elements are, with a descr for a new header. Throws Error (EIO) if the sidecar
// names no type, or one that isn't known.
Dtype sidecar_dtype(const Sidecar& sidecar);

}  // namespace npyfs
