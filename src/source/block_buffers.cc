#include "source/block_buffers.h"

#include <utility>

#include "npyfs/source/block_cache.h"

namespace npyfs {

BlockBuffers::BlockBuffers() : free_(std::make_shared<Free>()) {
  free_->buffers.reserve(kMostFree);
}

std::shared_ptr<std::vector<std::byte>> BlockBuffers::make(std::size_t size) {
  if (size != BlockCache::kBlockSize) {
    return std::make_shared<std::vector<std::byte>>(size);
  }
  Buffer buffer;
  {
    const std::lock_guard lock(free_->mutex);
    if (!free_->buffers.empty()) {
      buffer = std::move(free_->buffers.back());
      free_->buffers.pop_back();
    }
  }
  if (buffer == nullptr) {
    buffer = std::make_unique<std::vector<std::byte>>(size);
  }
  const auto take_back = [free = free_](std::vector<std::byte>* used) {
    Buffer returned(used);  // outlives the lock: freeing it may take long
    const std::lock_guard lock(free->mutex);
    if (returned->size() == BlockCache::kBlockSize && free->buffers.size() < kMostFree) {
      free->buffers.push_back(std::move(returned));
    }
  };
  return {buffer.release(), take_back};
}

}  // namespace npyfs
