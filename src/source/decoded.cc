#include "npyfs/source/decoded.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <thread>
#include <utility>

#include "source/decode_shared.h"
#include "source/decoded_member.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlockSize = BlockCache::kBlockSize;
constexpr std::uint64_t kLeastCache = 16 * kBlockSize;

// One open of a member.
class DecodedSource final : public Source {
 public:
  DecodedSource(std::shared_ptr<DecodeShared> shared, std::shared_ptr<DecodedMember> member)
      : shared_(std::move(shared)), member_(std::move(member)) {}
  ~DecodedSource() override {
    shared_->members.close(member_->id());
    member_->store_points_at_last();
  }

  std::uint64_t size() const override { return member_->size(); }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    each_block(offset, dst.size(), [&](const BlockPtr&, Bytes part) {
      std::memcpy(dst.data(), part.data(), part.size());
      dst = dst.subspan(part.size());
    });
  }

  void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const override {
    each_block(offset, length, [&](const BlockPtr& block, Bytes part) {
      if (out.full()) {
        std::memcpy(out.scratch(part.size()).data(), part.data(), part.size());
      } else {
        out.lend(part, block);
      }
    });
  }

  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    return length == 0 || member_->at_hand(offset / kBlockSize, (offset + length - 1) / kBlockSize);
  }

 private:
  // Calls visit(block, the part of it that lies in the range) for each block of the range, in
  // order.
  template <typename Visit>
  void each_block(std::uint64_t offset, std::uint64_t length, Visit&& visit) const {
    if (length == 0) {
      return;
    }
    const std::uint64_t first = offset / kBlockSize;
    const std::uint64_t last = (offset + length - 1) / kBlockSize;
    for (std::uint64_t index = first; index <= last; ++index) {
      member_->share_out(index, last);
      const std::uint64_t block_begin = index * kBlockSize;
      const std::uint64_t begin = std::max(offset, block_begin) - block_begin;
      const std::uint64_t end = std::min(offset + length - block_begin, kBlockSize);
      const BlockPtr block = member_->block(index, begin, end);
      visit(block, Bytes(*block).subspan(begin, end - begin));
    }
    member_->follow(first, last);
  }

  std::shared_ptr<DecodeShared> shared_;
  std::shared_ptr<DecodedMember> member_;
};

}  // namespace

std::unique_ptr<Cursor> Codec::resume(const RestartPoint& point) const {
  throw_corrupt("a restart point at ", point.position, " for a codec that has none");
}

DecodeShared::DecodeShared(const Decoder::Options& options)
    : threads(options.threads),
      cache(std::max(options.cache_bytes, kLeastCache)),
      restart_points(options.restart_bytes),
      keeper(restart_points, options.store),
      pool(options.threads) {}

Decoder::Decoder(const Options& options) : shared_(std::make_shared<DecodeShared>(options)) {}

Decoder::~Decoder() {
  stop_threads();
  shared_->keeper.save_all();
}

void Decoder::stop_threads() { shared_->pool.stop(); }

unsigned Decoder::default_threads() {
  return std::clamp(std::thread::hardware_concurrency(), 2U, 9U) - 1;
}

BlockCache& Decoder::cache() { return shared_->cache; }

void Decoder::on_fault(OnFault report) { shared_->on_fault = std::move(report); }

std::uint64_t Decoder::new_archive() {
  const std::uint64_t archive = ++shared_->last_archive;
  assert(archive < std::uint64_t{1} << 31);
  return archive;
}

SourcePtr Decoder::open(std::uint64_t member_id, std::uint64_t size,
                        std::optional<std::uint32_t> crc32,
                        const std::function<std::unique_ptr<Codec>()>& make_codec) {
  if (size > INT64_MAX) {
    throw_corrupt("a member of ", size, " bytes passes 2^63");
  }
  auto member = shared_->members.open(
      member_id, [&] { return std::make_shared<DecodedMember>(*shared_, member_id, size, crc32); });
  auto source = std::make_shared<DecodedSource>(shared_, member);
  if (!member->has_codec()) {
    member->set_codec(make_codec());
  }
  return source;
}

Decoder::Counts Decoder::counts() const {
  Counts counts;
  counts.decoded_bytes = shared_->decoded_bytes;
  counts.decoded_blocks = shared_->decoded_blocks;
  counts.decoded_ahead = shared_->decoded_ahead;
  counts.waits = shared_->waits;
  counts.restarts = shared_->restarts;
  const RestartPoints::Counts points = shared_->restart_points.counts();
  counts.restart_points = points.points;
  counts.restart_bytes = points.bytes;
  counts.points_loaded = shared_->keeper.loaded();
  counts.points_saved = shared_->keeper.saved();
  counts.idle_cursors = shared_->idle_cursors.count();
  counts.cache = shared_->cache.counts();
  return counts;
}

}  // namespace npyfs
