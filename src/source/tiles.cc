#include "source/tiles.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "npyfs/source/cancel.h"

namespace npyfs {

Tiles::Claim Tiles::claim(const Tile& wanted, std::uint64_t most_blocks) {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = wanted.count;
  for (const auto& tile : under_way_) {
    if (tile->cache != wanted.cache || tile->object != wanted.object) {
      continue;
    }
    if (tile->first <= wanted.first && wanted.first - tile->first < tile->count) {
      return {tile, false};
    }
    if (tile->first > wanted.first) {
      count = std::min(count, tile->first - wanted.first);
    }
  }
  const std::uint64_t room = most_blocks > blocks_ ? most_blocks - blocks_ : 0;
  auto tile = std::make_shared<Tile>(wanted);
  tile->count = std::max<std::uint64_t>(1, std::min(count, room));
  under_way_.push_back(tile);
  blocks_ += tile->count;
  return {std::move(tile), true};
}

void Tiles::finish(const std::shared_ptr<Tile>& tile, std::vector<BlockPtr> blocks) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(under_way_, tile);
    blocks_ -= tile->count;
    tile->blocks = std::move(blocks);
    tile->over = true;
  }
  over_.notify_all();
}

void Tiles::wait(const std::shared_ptr<Tile>& tile) {
  constexpr auto kBetweenQuestions = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kBetweenQuestions, [&] { return tile->over; })) {
    lock.unlock();
    throw_if_cancelled();
    lock.lock();
  }
}

Tiles& tiles() {
  static Tiles all;
  return all;
}

}  // namespace npyfs
