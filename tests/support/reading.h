// Reading a Source as tests do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npyfs/base/error.h"
#include "npyfs/source/source.h"

namespace npyfs {

inline void read_through(const Source& source, std::size_t piece = 128 << 10) {
  std::vector<std::byte> bytes(piece);
  for (std::uint64_t at = 0; at < source.size(); at += piece) {
    source.read(at, std::span(bytes).first(std::min<std::uint64_t>(piece, source.size() - at)));
  }
}

// 0, or the errno with which the read fails.
inline int errno_of(const Source& source, std::uint64_t offset, std::size_t length) {
  try {
    read_bytes(source, offset, length);
    return 0;
  } catch (const Error& error) {
    return error.errno_value();
  }
}

}  // namespace npyfs
