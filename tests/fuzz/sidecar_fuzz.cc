// Any bytes as a sidecar: parse_sidecar never throws, and its types are read or an Error.
#include <cstddef>
#include <cstdint>

#include "npyfs/base/error.h"
#include "npyfs/format/sidecar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto sidecar =
      npyfs::parse_sidecar(npyfs::Bytes(reinterpret_cast<const std::byte*>(data), size));
  if (sidecar) {
    try {
      npyfs::descr_repr(npyfs::sidecar_dtype(*sidecar));
    } catch (const npyfs::Error&) {
      return 0;
    }
  }
  return 0;
}
