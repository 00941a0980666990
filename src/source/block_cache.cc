// Two lists, each in order of use. On trial: decoded, used at most once. Proven: used again. Proven
// blocks may take four fifths of the budget, so that those on trial always have room to prove
// themselves; what falls off the end of the proven list is on trial again. Plain LRU would let one
// `cat` of a large member empty the cache of everybody else.
#include "npyfs/source/block_cache.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "source/block_memory.h"

namespace npyfs {
namespace {

std::uint64_t cost(const BlockPtr& block) { return block->size() + BlockCache::kBlockOverhead; }

}  // namespace

std::size_t BlockCache::KeyHash::operator()(const BlockKey& key) const {
  // Fibonacci hashing: object numbers and indices are small and dense.
  return static_cast<std::size_t>((key.object * 0x9E3779B97F4A7C15 + key.index) *
                                  0x9E3779B97F4A7C15);
}

BlockCache::BlockCache(std::uint64_t capacity)
    : capacity_(capacity), memory_(std::make_shared<BlockMemory>()) {}

std::shared_ptr<Block> BlockCache::make(std::size_t size) { return memory_->make(size); }

void BlockCache::prepare() { memory_->prepare(); }

std::uint64_t BlockCache::new_objects(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  assert(count < kFirstReservedObject - last_object_);
  last_object_ += count;
  return last_object_ - count + 1;
}

BlockPtr BlockCache::find(BlockKey key, std::size_t begin, std::size_t end) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    ++counts_.misses;
    return nullptr;
  }
  ++counts_.hits;
  BlockPtr block = found->second->block;
  use(found->second, begin, end);
  return block;
}

bool BlockCache::contains(BlockKey key) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(key);
}

void BlockCache::put(BlockKey key, BlockPtr block, std::size_t begin, std::size_t end) {
  if (cost(block) > capacity_) {
    return;
  }
  std::vector<BlockPtr> evicted;  // freed once the mutex isn't held
  const std::lock_guard lock(mutex_);
  if (entries_.contains(key)) {
    return;
  }
  Entries fresh;
  fresh.push_front({key, std::move(block), begin, end});
  entries_.emplace(key, fresh.begin());
  counts_.bytes += cost(fresh.front().block);
  on_trial_.splice(on_trial_.begin(), fresh);
  while (counts_.bytes > capacity_) {
    evicted.push_back(evict_one());
  }
}

BlockCache::Counts BlockCache::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.blocks = entries_.size();
  return counts;
}

void BlockCache::use(Entries::iterator entry, std::size_t begin, std::size_t end) {
  Entries& list = entry->proven ? proven_ : on_trial_;
  list.splice(list.begin(), list, entry);
  if (entry->proven) {
    return;
  }
  const bool again = begin < entry->end && entry->begin < end;
  if (again) {
    prove(entry);
  } else if (entry->begin == entry->end) {
    entry->begin = begin;
    entry->end = end;
  } else {
    entry->begin = std::min(entry->begin, begin);
    entry->end = std::max(entry->end, end);
  }
}

void BlockCache::prove(Entries::iterator entry) {
  proven_.splice(proven_.begin(), on_trial_, entry);
  entry->proven = true;
  proven_bytes_ += cost(entry->block);
  while (proven_bytes_ > capacity_ / 5 * 4 && proven_.size() > 1) {
    const auto oldest = std::prev(proven_.end());
    proven_bytes_ -= cost(oldest->block);
    oldest->proven = false;
    oldest->begin = 0;  // any use brings it back
    oldest->end = oldest->block->size();
    on_trial_.splice(on_trial_.begin(), proven_, oldest);
  }
}

BlockPtr BlockCache::evict_one() {
  Entries& list = on_trial_.empty() ? proven_ : on_trial_;
  const auto oldest = std::prev(list.end());
  BlockPtr block = std::move(oldest->block);
  counts_.bytes -= cost(block);
  if (oldest->proven) {
    proven_bytes_ -= cost(block);
  }
  ++counts_.evicted;
  entries_.erase(oldest->key);
  list.erase(oldest);
  return block;
}

}  // namespace npyfs
