// Decoded blocks of all members in one budget for the mount.
//
// A block is immutable once published and counted by references: eviction drops the cache's own, a
// reply in progress keeps the bytes. The cache's mutex is held for look-ups only, never while
// something is decoded, and no other lock is taken under it.
//
// A block is on trial until some of its bytes are used again; then it is proven. Eviction takes
// blocks on trial first, so a reader that streams through a member displaces its own blocks and not
// those that others come back to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include "npyfs/source/block.h"

namespace npyfs {

class BlockMemory;

struct BlockKey {
  std::uint64_t object = 0;  // from BlockCache::new_objects
  std::uint64_t index = 0;   // of the block in that object
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

class BlockCache {
 public:
  static constexpr std::size_t kBlockSize = std::size_t{256} << 10;
  // What a block is charged beside its bytes, so that a million tiny ones stay in the budget too.
  static constexpr std::size_t kBlockOverhead = 256;
  // new_objects stays below it; from here on its owner hands out numbers of its own.
  static constexpr std::uint64_t kFirstReservedObject = std::uint64_t{1} << 63;

  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t bytes = 0;  // held now, with the overhead
    std::uint64_t blocks = 0;
    std::uint64_t evicted = 0;
  };

  // `capacity` in bytes. Blocks in use by replies count until they are evicted.
  explicit BlockCache(std::uint64_t capacity);

  // The first of `count` numbers, one after another, that no other object of this cache has.
  std::uint64_t new_objects(std::uint64_t count = 1);

  // A block to be filled and put, `size` bytes of any content; may outlive the cache. Throws
  // std::bad_alloc.
  std::shared_ptr<Block> make(std::size_t size);

  // Readies memory for one more block, for threads that would only wait otherwise.
  void prepare();

  // The block, or null. [begin, end) is the part of the block that the caller will use: a reader
  // that goes forward touches a block several times without ever wanting it again, and mustn't
  // flush what others really use again, so only bytes touched before count as a second use.
  BlockPtr find(BlockKey key, std::size_t begin, std::size_t end);

  // Whether find would succeed; counts as no use, hit or miss.
  bool contains(BlockKey key) const;

  // Publishes a block; a block that is there already stays. Evicts the least useful ones over
  // budget; a block larger than the whole budget isn't kept.
  void put(BlockKey key, BlockPtr block) { put(key, std::move(block), 0, 0); }

  // The same, by a caller that uses the part [begin, end) of it now: that is its first use.
  void put(BlockKey key, BlockPtr block, std::size_t begin, std::size_t end);

  std::uint64_t capacity() const { return capacity_; }
  Counts counts() const;

 private:
  struct Entry {
    BlockKey key;
    BlockPtr block;
    std::size_t begin = 0;  // what was used so far lies in [begin, end)
    std::size_t end = 0;
    bool proven = false;
  };
  using Entries = std::list<Entry>;  // the most recently used first
  struct KeyHash {
    std::size_t operator()(const BlockKey& key) const;
  };

  void use(Entries::iterator entry, std::size_t begin, std::size_t end);
  void prove(Entries::iterator entry);
  BlockPtr evict_one();

  const std::uint64_t capacity_;
  const std::shared_ptr<BlockMemory> memory_;
  mutable std::mutex mutex_;  // guards everything below
  Entries on_trial_;
  Entries proven_;
  std::uint64_t proven_bytes_ = 0;
  std::unordered_map<BlockKey, Entries::iterator, KeyHash> entries_;
  std::uint64_t last_object_ = 0;
  Counts counts_;
};

}  // namespace npyfs
