// The CRC-32 of a member, put together from blocks that were decoded in any order: runs of
// neighbours, each with the CRC of its bytes. One run after a forward pass, so it takes next to
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace npyfs {

class Coverage {
 public:
  // Whether the bytes at `offset` are in.
  bool covers(std::uint64_t offset) const;

  // Adds [begin, end), whose CRC is `crc`. Precondition: no byte of it is in, begin < end.
  void add(std::uint64_t begin, std::uint64_t end, std::uint32_t crc);

  // The CRC of [0, size) once all of it is in.
  std::optional<std::uint32_t> whole(std::uint64_t size) const;

  bool empty() const { return runs_.empty(); }

 private:
  struct Run {
    std::uint64_t end;
    std::uint32_t crc;
  };
  std::map<std::uint64_t, Run> runs_;  // by where they begin; no two touch
};

}  // namespace npyfs
