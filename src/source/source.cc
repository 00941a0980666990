#include "npyfs/source/source.h"

#include "npyfs/base/error.h"

namespace npyfs {

void Source::gather(std::uint64_t offset, std::uint64_t length, Gather& out) const {
  read(offset, out.scratch(length));
}

bool Source::at_hand(std::uint64_t, std::uint64_t) const { return true; }

std::vector<std::byte> read_bytes(const Source& source, std::uint64_t offset, std::size_t length) {
  if (offset > source.size() || length > source.size() - offset) {
    throw_corrupt(length, " bytes at ", offset, " run past the end at ", source.size());
  }
  std::vector<std::byte> bytes(length);
  source.read(offset, bytes);
  return bytes;
}

}  // namespace npyfs
