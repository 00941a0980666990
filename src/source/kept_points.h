// The file of one member's restart points:
//
//   8 bytes  "npyfspts"
//   u32      version, u32 length of the key, u32 points, u32 0
//            the key
//            for each point: u64 position, u32 length of its state, u64 CRC-64 of the state
//   u64      CRC-64 of all that stands before
//            the states, one after another
//
// Little-endian; the states are the codec's own. The front is read whole and checked when the file
// is opened, a state when somebody wants to start from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/base/fd.h"

#include "source/restart_points.h"

namespace npyfs {

class KeptPoints {
 public:
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::size_t kMostPoints = 4096;
  static constexpr std::size_t kMostState = std::size_t{1} << 20;
  static constexpr std::size_t kMostKey = 4096;

  struct Entry {
    std::uint64_t position = 0;
    std::uint64_t offset = 0;  // of the state, in the file
    std::uint32_t length = 0;
    std::uint64_t crc = 0;
  };

  // None.
  KeptPoints() = default;

  // Those of a member of `size` bytes in `file`; none if they are another's: the key or the version
  // differ. Throws Error if the file is damaged.
  static KeptPoints read(Fd file, std::string_view key, std::uint64_t size);

  // In order of their positions, which begin a block each and lie in (0, size).
  const std::vector<Entry>& entries() const { return entries_; }

  bool has(std::uint64_t position) const;

  // The last position at or before `position`; 0 if there is none.
  std::uint64_t nearest(std::uint64_t position) const;

  // The point at the position of an entry; null unless it can be had exactly as it was written.
  RestartPointPtr load(std::uint64_t position) const;

 private:
  Fd file_;
  std::vector<Entry> entries_;
};

// The front of a file with these points, which lie in the order of their positions.
std::vector<std::byte> front_of_points(std::string_view key,
                                       const std::vector<KeptPoints::Entry>& entries);

std::uint64_t checksum_of_state(Bytes state);

}  // namespace npyfs
