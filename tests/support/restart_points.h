// Restart points of no codec, for what is done with them as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "npyfs/source/block_cache.h"
#include "npyfs/source/decoded.h"

#include "support/deflate_bytes.h"

namespace npyfs {

// At the beginnings of these blocks.
inline std::vector<std::shared_ptr<const RestartPoint>> points_at(
    std::initializer_list<std::uint64_t> blocks, std::size_t size = 1000) {
  std::vector<std::shared_ptr<const RestartPoint>> points;
  for (const std::uint64_t block : blocks) {
    points.push_back(std::make_shared<RestartPoint>(RestartPoint{
        block * BlockCache::kBlockSize, noise_bytes(size, static_cast<unsigned>(block))}));
  }
  return points;
}

}  // namespace npyfs
