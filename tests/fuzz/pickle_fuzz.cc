// Any bytes as a pickle: read, walked for arrays, and the first bytes of those read.
#include <algorithm>
#include <cstdint>

#include "npyfs/base/error.h"
#include "npyfs/format/pickled_arrays.h"
#include "npyfs/source/compose.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace npyfs;
  const auto bytes = std::as_bytes(std::span(data, size));
  const SourcePtr source = memory(std::vector<std::byte>(bytes.begin(), bytes.end()));
  const auto cache = std::make_shared<BlockCache>(std::uint64_t{16} << 20);
  try {
    const Pickle pickle = read_pickle(*source, 0, source->size());
    const PickledArrays found = find_arrays(pickle);
    for (std::size_t i = 0; i < std::min<std::size_t>(found.arrays.size(), 20); ++i) {
      descr_repr(*found.arrays[i].dtype);
      const SourcePtr content = array_data(found.arrays[i], source, cache, cache->new_objects());
      read_bytes(*content, 0, std::min<std::uint64_t>(content->size(), 4096));
    }
  } catch (const Error&) {
    // Damage is reported so.
  }
  return 0;
}
