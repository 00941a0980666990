#include "source/decoded_member.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "npyfs/source/cancel.h"

#include "source/decode_shared.h"
#include "source/run_scope.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlockSize = BlockCache::kBlockSize;
constexpr std::uint64_t kMostWhole = std::uint64_t{4} << 20;
constexpr std::uint64_t kLeastSpacing = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostPoints = 512;
constexpr std::uint64_t kMostKept = 16;
constexpr std::uint64_t kBlocksAhead = 4;
constexpr std::size_t kMostShares = 8;
constexpr std::chrono::milliseconds kLookAround{
    20};  // how soon a waiting thread sees it is cancelled

std::uint64_t spacing_of(std::uint64_t size) {
  const std::uint64_t spacing = std::max(kLeastSpacing, size / kMostPoints);
  return (spacing + kBlockSize - 1) / kBlockSize * kBlockSize;
}

}  // namespace

DecodedMember::DecodedMember(DecodeShared& shared, std::uint64_t id, std::uint64_t size,
                             std::optional<std::uint32_t> crc32)
    : shared_(shared),
      id_(id),
      size_(size),
      spacing_(spacing_of(size)),
      whole_(size <= std::min(kMostWhole, shared.cache.capacity() / 8)),
      shares_out_(!whole_ && spacing_ <= shared.cache.capacity() / 8 / (shared.threads + 1)),
      most_kept_(std::clamp(shared.cache.capacity() / 8 / kBlockSize, std::uint64_t{1}, kMostKept)),
      soundness_(size, crc32) {}

bool DecodedMember::has_codec() const {
  const std::lock_guard lock(mutex_);
  return codec_ != nullptr;
}

void DecodedMember::set_codec(std::unique_ptr<Codec> codec) {
  const std::lock_guard lock(mutex_);
  if (codec_ == nullptr) {
    codec_ = std::move(codec);
  }
}

bool DecodedMember::close() {
  const std::lock_guard lock(mutex_);
  codec_ = nullptr;
  kept_ = nullptr;
  return soundness_.is_worth_keeping(whole_);
}

BlockPtr DecodedMember::block(std::uint64_t index, std::size_t begin, std::size_t end) {
  const std::uint64_t used_end = index * kBlockSize + end;
  soundness_.throw_if_unsound(used_end);
  BlockPtr block = shared_.cache.find(key(index), begin, end);
  while (block == nullptr || block->size() < end) {
    throw_if_cancelled();
    block = find_or_decode({index, begin, end});
    soundness_.throw_if_unsound(used_end);
  }
  // In this order: either this thread sees a fault or whoever notes it sees what is given out.
  std::uint64_t given_out = given_out_;
  while (given_out < used_end && !given_out_.compare_exchange_weak(given_out, used_end)) {
  }
  soundness_.throw_if_unsound(used_end);
  return block;
}

bool DecodedMember::at_hand(std::uint64_t first, std::uint64_t last) const {
  std::uint64_t missing = kNone;
  for (std::uint64_t index = first; index <= last; ++index) {
    if (cached(index)) {
      continue;
    }
    if (missing != kNone) {
      return false;
    }
    missing = index;
  }
  if (missing == kNone || soundness_.is_broken_at(missing * kBlockSize)) {
    return true;
  }
  if (whole_ || missing == 0) {
    return !whole_ || size_ <= kBlockSize;
  }
  const std::lock_guard lock(mutex_);
  const Run* const running = nearest_run(missing);
  const std::uint64_t begin = missing * kBlockSize;
  return (running != nullptr && running->next == missing) || shared_.idle_cursors.has(id_, begin) ||
         (kept_ != nullptr && kept_->points.has(begin)) ||
         !shared_.restart_points.positions(id_, begin, begin + 1, 1).empty();
}

void DecodedMember::follow(std::uint64_t first, std::uint64_t last) {
  if (whole_) {
    return;
  }
  std::uint64_t ahead = last + 1;
  const std::uint64_t ahead_last = std::min(last + kBlocksAhead, last_block());
  {
    const std::lock_guard lock(mutex_);
    if (!readers_.goes_forward(first, last)) {
      return;
    }
    while (ahead <= ahead_last && cached(ahead)) {
      ++ahead;
    }
    // A run that is ahead of this reader already just goes on.
    const auto running = std::ranges::find_if(runs_, [&](const Run* run) {
      return run->is_ahead && run->next <= ahead && ahead <= run->last + 1;
    });
    if (running != runs_.end()) {
      (*running)->last = std::max((*running)->last, ahead_last);
      return;
    }
  }
  if (ahead <= ahead_last) {
    offer(ahead, ahead_last);
  }
}

void DecodedMember::share_out(std::uint64_t index, std::uint64_t last) {
  const std::uint64_t step = spacing_ / kBlockSize;
  if (!shares_out_ || index % step != 0 || last - index < step) {
    return;
  }
  const std::uint64_t end = (last + 1) * kBlockSize;
  for (const std::uint64_t position : point_positions((index + 1) * kBlockSize, end, kMostShares)) {
    const std::uint64_t first = position / kBlockSize;
    if (!offer(first, std::min(first + step - 1, last))) {
      return;
    }
  }
}

void DecodedMember::store_points_at_last() {
  if (shared_.keeper.is_due(id_, true) && !store_points_soon()) {
    store_points();
  }
}

BlockKey DecodedMember::key(std::uint64_t index) const {
  return {BlockCache::kFirstReservedObject + id_, index};
}

std::uint64_t DecodedMember::last_block() const { return (size_ - 1) / kBlockSize; }

std::uint64_t DecodedMember::end_of(std::uint64_t index) const {
  return std::min((index + 1) * kBlockSize, size_);
}

bool DecodedMember::cached(std::uint64_t index) const { return shared_.cache.contains(key(index)); }

bool DecodedMember::is_under_way(std::uint64_t index) const {
  return std::ranges::any_of(
      runs_, [index](const Run* run) { return run->next <= index && index <= run->last; });
}

void DecodedMember::note_fault(std::uint64_t from, const Damage& damage) {
  if (!soundness_.note(from, damage)) {
    return;
  }
  if (shared_.on_fault) {
    shared_.on_fault(id_, damage.errno_value(), damage.what(), from < given_out_);
  }
  if (const KeptMemberPtr kept = this->kept()) {
    distrust(kept);
  }
}

// Null if the caller has to look again.
BlockPtr DecodedMember::find_or_decode(const Wanted& wanted) {
  const KeptMemberPtr kept = this->kept();
  std::unique_lock lock(mutex_);
  if (cached(wanted.index)) {
    lock.unlock();
    return shared_.cache.find(key(wanted.index), wanted.begin, wanted.end);
  }
  const std::uint64_t begin = wanted.index * kBlockSize;
  Run* const running = nearest_run(wanted.index);
  Start start = nearest_point(kept, begin);
  const std::uint64_t known = start.point_position();
  const std::uint64_t lowest = running == nullptr ? 0 : running->next * kBlockSize + 1;
  start.cursor = shared_.idle_cursors.take(id_, std::max(lowest, known), begin);
  if (start.cursor == nullptr && running != nullptr && running->next * kBlockSize >= known) {
    return wait_for(std::move(lock), *running, wanted.index);
  }
  Run run{start.block(), whole_ ? last_block() : wanted.index};
  auto scope = std::make_unique<RunScope>(*this, run);
  lock.unlock();
  BlockPtr block = carry_out(std::move(scope), std::move(start), wanted);
  if (shared_.keeper.is_due(id_, run.next > last_block())) {
    store_points_soon();
  }
  return block;
}

// The run that will be at `index` soonest; null if none is before it.
DecodedMember::Run* DecodedMember::nearest_run(std::uint64_t index) const {
  Run* nearest = nullptr;
  for (Run* const run : runs_) {
    if (run->next <= index && (nearest == nullptr || run->next > nearest->next)) {
      nearest = run;
    }
  }
  return nearest;
}

BlockPtr DecodedMember::wait_for(std::unique_lock<std::mutex> lock, Run& run, std::uint64_t index) {
  const auto known = run.slots.find(index);
  // `run` may end any time.
  const auto slot = known == run.slots.end() ? std::make_shared<Slot>() : known->second;
  run.slots.try_emplace(index, slot);
  ++shared_.waits;
  lock.unlock();
  shared_.cache.prepare();  // somebody has to, and the thread that decodes has more to do
  lock.lock();
  while (!slot->done) {
    slot->changed.wait_for(lock, kLookAround);
    if (!slot->done) {
      lock.unlock();
      throw_if_cancelled();
      lock.lock();
    }
  }
  return slot->block;
}

}  // namespace npyfs
