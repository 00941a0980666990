#include "npyfs/base/bytes.h"

#include "npyfs/base/error.h"

namespace npyfs {

Bytes ByteReader::take(std::size_t count) {
  if (count > rest_.size()) {
    throw_corrupt("ends early: ", count, " bytes wanted, ", rest_.size(), " left");
  }
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::uint64_t ByteReader::little_endian(std::size_t width) {
  const Bytes bytes = take(width);
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

}  // namespace npyfs
