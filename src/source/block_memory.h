// Memory for the blocks of a cache, used again. A fresh block costs 64 page faults, a sixth of the
// time that it takes to decode one, so it is touched by threads that would wait meanwhile and not
// by those that decode. (Huge pages were no better: a virtual machine's are the ones that its host
// took away.)
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "npyfs/source/block.h"

namespace npyfs {

// Thread-safe. Lives in a shared_ptr, of which each full block has one.
class BlockMemory : public std::enable_shared_from_this<BlockMemory> {
 public:
  // How many full blocks wait unused at most: 2 MiB.
  static constexpr std::size_t kMostFree = 8;

  BlockMemory();
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;
  ~BlockMemory();

  // `size` bytes of any content. Throws std::bad_alloc.
  std::shared_ptr<Block> make(std::size_t size);

  // Readies memory for a full block, unless enough is. Takes about as long as reading one.
  void prepare();

  // Full blocks that wait unused.
  std::size_t free_count() const;

 private:
  std::byte* take();
  void give_back(std::byte* bytes) noexcept;

  mutable std::mutex mutex_;  // guards free_; no other lock is taken under it
  std::vector<std::byte*> free_;
};

}  // namespace npyfs
