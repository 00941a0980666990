// The tiles that are being made, of all arrays: so that two readers who want the same one don't
// both make it, and so that all of them together stay within one limit of memory.
//
// A tile belongs to the thread that started it; others wait for it, holding neither a lock nor a
// tile of their own that somebody could wait for. The mutex is held for look-ups in a short list,
// never while bytes are read or moved, and no other lock is taken under it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "npyfs/source/block_cache.h"

namespace npyfs {

// Blocks [first, first + count) of an object of a cache.
struct Tile {
  const BlockCache* cache = nullptr;
  std::uint64_t object = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool over = false;             // guarded by the mutex of Tiles
  std::vector<BlockPtr> blocks;  // once it is over; none if making it failed
};

class Tiles {
 public:
  struct Claim {
    std::shared_ptr<Tile> tile;
    bool ours = false;  // to be made by the caller, who must `finish` it
  };

  // The tile under way that has the first block of `wanted`, or a new one: of `wanted` as much as
  // lies before the next one under way and keeps all together within `most_blocks`, but one block
  // at least.
  Claim claim(const Tile& wanted, std::uint64_t most_blocks);

  // Ends a tile with its blocks, or none.
  void finish(const std::shared_ptr<Tile>& tile, std::vector<BlockPtr> blocks);

  // Waits until the tile is over. Throws Error (EINTR) if this thread's work is cancelled
  // meanwhile.
  void wait(const std::shared_ptr<Tile>& tile);

 private:
  std::mutex mutex_;  // guards the rest
  std::condition_variable over_;
  std::vector<std::shared_ptr<Tile>> under_way_;
  std::uint64_t blocks_ = 0;  // of all of them
};

// Of the process, as its memory is.
Tiles& tiles();

}  // namespace npyfs
