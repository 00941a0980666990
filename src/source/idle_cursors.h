// Cursors that finished a read and wait where it ended: the next read of somebody who goes forward
// starts there. Few, since each holds a decoder's state and its input (some 350 KB for deflate): at
// most 4 of one member and 16 in all, the longest unused go first. Any thread; no other lock is
// taken under its mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "npyfs/source/decoded.h"

namespace npyfs {

class IdleCursors {
 public:
  static constexpr std::size_t kMostOfAMember = 4;
  static constexpr std::size_t kMost = 16;

  IdleCursors() { parked_.reserve(kMost); }

  // Never throws.
  void park(std::uint64_t member, std::unique_ptr<Cursor> cursor) noexcept;

  // Takes out the cursor with the highest position in [lowest, highest]; null if there is none.
  std::unique_ptr<Cursor> take(std::uint64_t member, std::uint64_t lowest, std::uint64_t highest);

  bool has(std::uint64_t member, std::uint64_t position) const;

  std::size_t count() const;

 private:
  struct Parked {
    std::uint64_t member;
    std::unique_ptr<Cursor> cursor;
  };

  mutable std::mutex mutex_;    // guards everything below
  std::vector<Parked> parked_;  // the longest unused first
};

}  // namespace npyfs
