// A tile is a run of cache blocks. Its size is what matters: of a stored array it has to be so much
// that the runs of the source in it are worth reads of their own; of a deflated one it has to be as
// large as can be, since each tile decodes again all of the slice it lies in: the whole array if
// its first axis moved. Blocks of a tile that others evicted before they were used are made anew in
// small tiles, so a crowded cache costs time but never memory.
#include "npyfs/source/transpose.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "npyfs/base/error.h"

#include "source/axis_order.h"
#include "source/box_copy.h"
#include "source/tiles.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlock = BlockCache::kBlockSize;
constexpr std::uint64_t kLargestTile = std::uint64_t{48} << 20;
// A read out of turn of at most so many bytes and elements makes no tile.
constexpr std::uint64_t kSmallRead = std::uint64_t{16} << 10;
constexpr std::uint64_t kFewElements = 4096;
// Reads of one stream may overtake each other by so much.
constexpr std::uint64_t kOutOfTurn = std::uint64_t{1} << 20;
// Sources up to this size are at hand if their own bytes are.
constexpr std::uint64_t kSmallSource = std::uint64_t{1} << 20;
constexpr std::uint64_t kGrowth = 4;
// Reading fewer bytes of the source in one place costs as much as reading so many.
constexpr std::uint64_t kShortRun = 256;
// A first touch of a stored array reaches for such runs unless that takes a tile beyond this.
constexpr std::uint64_t kFirstTile = std::uint64_t{16} << 20;

class COrder final : public Source {
 public:
  COrder(SourcePtr source, AxisOrder order, std::shared_ptr<BlockCache> cache, std::uint64_t object)
      : source_(std::move(source)),
        order_(std::move(order)),
        cache_(std::move(cache)),
        object_(object) {}

  std::uint64_t size() const override { return source_->size(); }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (dst.empty()) {
      return;
    }
    const std::uint64_t end = offset + dst.size();
    if (is_direct(offset, dst.size())) {
      read_direct(offset, dst);
    } else {
      each_block(offset, dst.size(),
                 [&](const BlockPtr& block, std::size_t at, std::size_t length) {
                   std::memcpy(dst.data(), block->data() + at, length);
                   dst = dst.subspan(length);
                 });
    }
    read_to(end);
  }

  void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const override {
    if (length == 0) {
      return;
    }
    if (is_direct(offset, length)) {
      read_direct(offset, out.scratch(length));
    } else {
      each_block(offset, length, [&](const BlockPtr& block, std::size_t at, std::size_t piece) {
        const auto bytes = Bytes(*block).subspan(at, piece);
        if (out.full()) {
          std::memcpy(out.scratch(piece).data(), bytes.data(), piece);
        } else {
          out.lend(bytes, block);
        }
      });
    }
    read_to(offset + length);
  }

  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0 || is_cached(offset, length)) {
      return true;
    }
    if (size() <= kSmallSource) {
      return source_->at_hand(0, size());
    }
    return is_direct(offset, length);
  }

 private:
  // Calls visit(block, offset in it, length) for what [offset, offset + length) covers.
  template <typename Visit>
  void each_block(std::uint64_t offset, std::uint64_t length, Visit&& visit) const {
    const std::uint64_t blocks = (offset + length - 1) / kBlock - offset / kBlock + 1;
    for (std::uint64_t done = 0; length > 0; ++done) {
      const std::size_t at = offset % kBlock;
      const std::size_t piece = std::min(length, kBlock - at);
      visit(block(offset / kBlock, at, at + piece, blocks - done), at, piece);
      offset += piece;
      length -= piece;
    }
  }

  bool is_cached(std::uint64_t offset, std::uint64_t length) const {
    for (std::uint64_t i = offset / kBlock; i <= (offset + length - 1) / kBlock; ++i) {
      if (!cache_->contains({object_, i})) {
        return false;
      }
    }
    return true;
  }

  // Whether a read is better served by the source alone.
  bool is_direct(std::uint64_t offset, std::uint64_t length) const;
  void read_direct(std::uint64_t offset, std::span<std::byte> dst) const {
    order_.copy(*source_, Target(offset, {dst}), false);
  }

  void read_to(std::uint64_t end) const {
    const std::lock_guard lock(mutex_);
    read_end_ = end;
  }

  // Block `index`, of which [begin, end) will be used; if it isn't there it is made, and with it at
  // least the next ones of the `wanted` that this read goes through.
  BlockPtr block(std::uint64_t index, std::size_t begin, std::size_t end,
                 std::uint64_t wanted) const;
  std::uint64_t tile_blocks(std::uint64_t index, std::uint64_t wanted) const;
  BlockPtr make(const std::shared_ptr<Tile>& tile, std::size_t used_begin,
                std::size_t used_end) const;
  std::vector<BlockPtr> copied(const Tile& tile) const;
  bool is_decoded(std::uint64_t begin, std::uint64_t end) const;
  std::uint64_t block_count() const { return (size() - 1) / kBlock + 1; }
  std::uint64_t most_blocks() const {
    return std::max<std::uint64_t>(1, std::min(cache_->capacity() / 6, kLargestTile) / kBlock);
  }

  const SourcePtr source_;
  const AxisOrder order_;
  const std::shared_ptr<BlockCache> cache_;
  const std::uint64_t object_;

  mutable std::mutex mutex_;  // guards the rest; nothing else is locked under it
  mutable std::uint64_t read_end_ = 0;
  mutable std::uint64_t tile_end_ = 0;     // of the last tile begun, in blocks
  mutable std::uint64_t tile_blocks_ = 0;  // its size
};

bool COrder::is_direct(std::uint64_t offset, std::uint64_t length) const {
  if (cache_->capacity() < 4 * kBlock) {
    return true;
  }
  if (order_.itemsize() < AxisOrder::kWideItem) {
    if (length > kSmallRead || length / order_.itemsize() > kFewElements) {
      return false;
    }
    const std::lock_guard lock(mutex_);
    if (offset + kOutOfTurn >= read_end_ && offset <= read_end_ + kOutOfTurn) {
      return false;
    }
  }
  return !is_cached(offset, length) && !is_decoded(offset, offset + length);
}

// Whether making [begin, end) of the result means to decode more than is there of the source.
bool COrder::is_decoded(std::uint64_t begin, std::uint64_t end) const {
  const auto [first, last] = order_.source_range(begin, end);
  return !source_->at_hand(first, last - first);
}

BlockPtr COrder::block(std::uint64_t index, std::size_t begin, std::size_t end,
                       std::uint64_t wanted) const {
  while (true) {
    if (BlockPtr found = cache_->find({object_, index}, begin, end)) {
      return found;
    }
    const std::uint64_t count = tile_blocks(index, wanted);
    const auto [tile, ours] =
        tiles().claim({cache_.get(), object_, index, count, false, {}}, most_blocks());
    if (ours && !cache_->contains({object_, index})) {
      return make(tile, begin, end);
    }
    if (ours) {
      tiles().finish(tile, {});  // another thread had just done it
      continue;
    }
    tiles().wait(tile);
    if (!tile->blocks.empty()) {
      return tile->blocks[index - tile->first];
    }
  }
}

// How many blocks from `index` on the next tile should have.
std::uint64_t COrder::tile_blocks(std::uint64_t index, std::uint64_t wanted) const {
  std::uint64_t most = std::min(block_count() - index, most_blocks());
  std::uint64_t least = 1;
  const std::uint64_t begin = index * kBlock;
  if (is_decoded(begin, std::min(size(), begin + most * kBlock))) {
    // What is decoded for the end of this read serves the rest of that slice too.
    const std::uint64_t last = std::min(size(), begin + wanted * kBlock) - 1;
    const std::uint64_t end = (last / order_.slice() + 1) * order_.slice();
    least = (end == size() ? block_count() : end / kBlock) - index;
  } else {
    // Beyond this the runs of the source get no better.
    const std::uint64_t longest = order_.stretch_of_runs(BoxCopy::kLongRun) / kBlock;
    most = std::min(most, std::max<std::uint64_t>(4, longest));
    const std::uint64_t shortest = order_.stretch_of_runs(kShortRun);
    least = shortest <= kFirstTile ? shortest / kBlock : 1;
  }
  std::uint64_t growing = 1;
  {
    const std::lock_guard lock(mutex_);
    if (index >= tile_end_ && index - tile_end_ <= kOutOfTurn / kBlock) {
      growing = tile_blocks_ * kGrowth;
    }
  }
  const std::uint64_t count = std::min(most, std::max({wanted, least, growing}));
  std::uint64_t missing = 1;
  while (missing < count && !cache_->contains({object_, index + missing})) {
    ++missing;
  }
  return missing;
}

// Makes a tile of ours, publishes it and returns its first block, of which [used_begin, used_end)
// is used now.
BlockPtr COrder::make(const std::shared_ptr<Tile>& tile, std::size_t used_begin,
                      std::size_t used_end) const {
  std::vector<BlockPtr> blocks;
  try {
    {
      const std::lock_guard lock(mutex_);
      tile_end_ = tile->first + tile->count;
      tile_blocks_ = tile->count;
    }
    blocks = copied(*tile);
    // The last one first: if the cache can't keep all, it gives up those that are wanted last.
    for (std::size_t i = blocks.size(); i-- > 1;) {
      cache_->put({object_, tile->first + i}, blocks[i]);
    }
    cache_->put({object_, tile->first}, blocks.front(), used_begin, used_end);
  } catch (...) {
    tiles().finish(tile, {});
    throw;
  }
  BlockPtr first = blocks.front();
  tiles().finish(tile, std::move(blocks));
  return first;
}

std::vector<BlockPtr> COrder::copied(const Tile& tile) const {
  const std::uint64_t begin = tile.first * kBlock;
  const std::uint64_t end = std::min(size(), begin + tile.count * kBlock);
  std::vector<std::shared_ptr<Block>> blocks;
  std::vector<std::span<std::byte>> pieces;
  for (std::uint64_t at = begin; at < end; at += kBlock) {
    blocks.push_back(cache_->make(std::min(kBlock, end - at)));
    pieces.emplace_back(*blocks.back());
  }
  order_.copy(*source_, Target(begin, std::move(pieces)), is_decoded(begin, end));
  return {blocks.begin(), blocks.end()};
}

}  // namespace

SourcePtr c_order(SourcePtr data, const std::vector<std::uint64_t>& shape,
                  const std::vector<std::size_t>& axes, std::uint64_t itemsize,
                  std::shared_ptr<BlockCache> cache, std::uint64_t object) {
  const bool empty = itemsize == 0 || std::ranges::find(shape, 0u) != shape.end();
  std::optional<std::uint64_t> bytes = empty ? 0 : itemsize;
  for (const std::uint64_t extent : shape) {
    bytes = bytes ? checked_multiply(*bytes, extent) : bytes;
  }
  if (bytes != data->size()) {
    throw_corrupt("the array's shape and item size don't make ", data->size(), " bytes");
  }
  if (empty) {
    return data;
  }
  AxisOrder order(shape, axes, itemsize);
  if (order.changes_nothing()) {
    return data;
  }
  return std::make_shared<COrder>(std::move(data), std::move(order), std::move(cache), object);
}

SourcePtr c_order(SourcePtr fortran_data, const std::vector<std::uint64_t>& shape,
                  std::uint64_t itemsize, std::shared_ptr<BlockCache> cache, std::uint64_t object) {
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return c_order(std::move(fortran_data), shape, axes, itemsize, std::move(cache), object);
}

}  // namespace npyfs
