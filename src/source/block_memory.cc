#include "source/block_memory.h"

#include <new>
#include <utility>

#include <sys/mman.h>

#include "npyfs/source/block_cache.h"

namespace npyfs {
namespace {

constexpr std::size_t kBlockSize = BlockCache::kBlockSize;

// Two are being decoded while a reader waits for a third.
constexpr std::size_t kReady = 4;

// `flags`: MAP_POPULATE to have the pages now. Null if there is no more memory.
std::byte* map_block(int flags) {
  void* const bytes = ::mmap(nullptr, kBlockSize, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<std::byte*>(bytes);
}

}  // namespace

BlockMemory::BlockMemory() { free_.reserve(kMostFree); }

BlockMemory::~BlockMemory() {
  for (std::byte* const bytes : free_) {
    ::munmap(bytes, kBlockSize);
  }
}

std::shared_ptr<Block> BlockMemory::make(std::size_t size) {
  if (size != kBlockSize) {
    return std::make_shared<Block>(size);
  }
  auto block = std::make_unique<Block>(std::span<std::byte>());
  std::byte* const bytes = take();
  *block = Block(std::span(bytes, size));
  const auto let_go = [self = shared_from_this(), bytes](Block* used) {
    delete used;
    self->give_back(bytes);
  };
  return {block.release(), let_go};  // calls let_go if it throws, too
}

void BlockMemory::prepare() {
  if (free_count() >= kReady) {
    return;
  }
  if (std::byte* const bytes = map_block(MAP_POPULATE)) {
    give_back(bytes);
  }
}

std::size_t BlockMemory::free_count() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

std::byte* BlockMemory::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::byte* const bytes = free_.back();
      free_.pop_back();
      return bytes;
    }
  }
  std::byte* const bytes = map_block(0);
  if (bytes == nullptr) {
    throw std::bad_alloc();
  }
  return bytes;
}

void BlockMemory::give_back(std::byte* bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (free_.size() < kMostFree) {
      free_.push_back(bytes);
      return;
    }
  }
  ::munmap(bytes, kBlockSize);
}

}  // namespace npyfs
