// A run: where it starts, what it decodes, what it leaves behind.
#include <algorithm>
#include <utility>

#include "npyfs/source/cancel.h"

#include "source/decode_shared.h"
#include "source/decoded_member.h"
#include "source/run_scope.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBlockSize = BlockCache::kBlockSize;

}  // namespace

std::uint64_t DecodedMember::Start::point_position() const {
  if (kept != nullptr) {
    return kept_position;
  }
  return point == nullptr ? 0 : point->position;
}

std::uint64_t DecodedMember::Start::block() const {
  return (cursor != nullptr ? cursor->position() : point_position()) / kBlockSize;
}

// Null without a store. What it has is asked for once, by whoever first decodes: mounting and
// opening read nothing of it.
KeptMemberPtr DecodedMember::kept() {
  if (whole_ || !shared_.keeper.is_on()) {
    return nullptr;
  }
  std::shared_ptr<const Codec> codec;
  {
    const std::lock_guard lock(mutex_);
    if (kept_ != nullptr || codec_ == nullptr) {
      return kept_;
    }
    codec = codec_;
  }
  KeptMemberPtr found = shared_.keeper.find(*codec, size_);
  const std::lock_guard lock(mutex_);
  if (kept_ == nullptr && codec_ != nullptr) {
    kept_ = std::move(found);
  }
  return kept_;
}

void DecodedMember::distrust(const KeptMemberPtr& kept) {
  KeptMemberPtr none = shared_.keeper.forget(id_, *kept);
  const std::lock_guard lock(mutex_);
  if (codec_ != nullptr) {
    kept_ = std::move(none);
  }
}

// With mutex_ held.
DecodedMember::Start DecodedMember::nearest_point(const KeptMemberPtr& kept,
                                                  std::uint64_t position) const {
  Start start{codec_, nullptr, nullptr, 0, shared_.restart_points.nearest(id_, position)};
  const std::uint64_t kept_position = kept == nullptr ? 0 : kept->points.nearest(position);
  if (kept_position > start.point_position()) {
    start.kept = kept;
    start.kept_position = kept_position;
  }
  return start;
}

// Where there are points in [begin, end), in memory or kept, in order; at most `most`.
std::vector<std::uint64_t> DecodedMember::point_positions(std::uint64_t begin, std::uint64_t end,
                                                          std::size_t most) {
  auto positions = shared_.restart_points.positions(id_, begin, end, most);
  if (const KeptMemberPtr kept = this->kept()) {
    for (std::uint64_t at = kept->points.nearest(end - 1); at >= begin && at > 0;
         at = kept->points.nearest(at - 1)) {
      positions.push_back(at);
    }
    std::ranges::sort(positions);
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    positions.resize(std::min(positions.size(), most));
  }
  return positions;
}

std::unique_ptr<Cursor> DecodedMember::cursor_for(Run& run, Start start) {
  if (start.cursor != nullptr) {
    return std::move(start.cursor);
  }
  while (start.point_position() > 0) {
    if (std::unique_ptr<Cursor> cursor = resume(start)) {
      return cursor;
    }
    const std::lock_guard lock(mutex_);
    run.next = start.block();
  }
  try {
    return start.codec->start();
  } catch (const Damage& damage) {
    note_fault(0, damage);
    throw;
  }
}

// A cursor at start's point. Null if that is of no use; then `start` is without it.
std::unique_ptr<Cursor> DecodedMember::resume(Start& start) {
  const KeptMemberPtr kept = std::move(start.kept);
  const RestartPointPtr point =
      kept == nullptr ? std::move(start.point) : shared_.keeper.load(*kept, start.kept_position);
  try {
    if (point != nullptr) {
      auto cursor = start.codec->resume(*point);
      ++shared_.restarts;
      if (shared_.restart_points.wants(id_, spacing_, point->position)) {
        shared_.restart_points.add(id_, spacing_, point);
      }
      return cursor;
    }
  } catch (const Error&) {
    // It says that it is no point of this codec: the same as none.
  }
  if (kept != nullptr) {
    distrust(kept);
  }
  return nullptr;
}

// Decodes up to the run's last block and ends it. Returns the wanted block, cut where the stream
// breaks.
BlockPtr DecodedMember::carry_out(std::unique_ptr<RunScope> scope, Start start,
                                  const Wanted& wanted) {
  Run& run = scope->run();
  scope->cursor = cursor_for(run, std::move(start));
  BlockPtr result;
  bool goes_on = true;
  while (goes_on) {
    throw_if_cancelled();
    const std::uint64_t index = run.next;  // only this thread changes it
    scope->between_blocks = false;
    const BlockPtr block = decode(*scope->cursor, index);
    if (index == wanted.index) {
      result = block;
    }
    shared_.decoded_ahead += run.is_ahead ? 1 : 0;
    const bool is_sound = block->size() == end_of(index) - index * kBlockSize;
    goes_on = publish(run, block, wanted) && is_sound;
    if (is_sound) {
      leave_restart_point(*scope->cursor);
      scope->between_blocks = true;
    }
  }
  return result;
}

// The block, shorter if the stream breaks in it.
BlockPtr DecodedMember::decode(Cursor& cursor, std::uint64_t index) {
  const std::uint64_t begin = index * kBlockSize;
  const std::uint64_t end = end_of(index);
  const auto block = shared_.cache.make(end - begin);
  try {
    cursor.produce(*block);
    if (end == size_) {
      cursor.finish();
    }
    if (const auto wrong = soundness_.check(begin, *block)) {
      note_fault(last_block() * kBlockSize, *wrong);
    }
  } catch (const Damage& damage) {
    const std::uint64_t sound = std::clamp(cursor.position(), begin, end);
    if (sound < end) {
      note_fault(sound, Damage(text_of(size_, " bytes are declared, but ", damage.what())));
      block->cut(sound - begin);
    } else {
      // It goes on past its size: which bytes are right nobody knows, so the last block isn't
      // served.
      note_fault(begin, damage);
      block->cut(0);
    }
  }
  shared_.decoded_bytes += block->size();
  ++shared_.decoded_blocks;
  return block;
}

// Hands out the block that `run` was at; false if it was the last.
bool DecodedMember::publish(Run& run, const BlockPtr& block, const Wanted& wanted) {
  std::unique_lock lock(mutex_);
  const std::uint64_t index = run.next;
  const bool keep = run.is_ahead || run.last - index < most_kept_ || run.slots.contains(index);
  if (keep && block->size() > 0) {
    const bool is_wanted = index == wanted.index;
    shared_.cache.put(key(index), block, is_wanted ? wanted.begin : 0, is_wanted ? wanted.end : 0);
  }
  // From here on nothing throws: who was taken off the run's list is told.
  const auto waiting = run.slots.extract(index);
  if (!waiting.empty()) {
    waiting.mapped()->block = block;
    waiting.mapped()->done = true;
  }
  ++run.next;
  const bool goes_on = run.next <= run.last;
  lock.unlock();
  if (!waiting.empty()) {
    waiting.mapped()->changed.notify_all();
  }
  return goes_on;
}

void DecodedMember::leave_restart_point(Cursor& cursor) {
  const std::uint64_t position = cursor.position();
  if (whole_ || position >= size_ || !shared_.restart_points.wants(id_, spacing_, position)) {
    return;
  }
  if (RestartPointPtr point = cursor.save()) {
    shared_.restart_points.add(id_, spacing_, std::move(point));
    // Where something is wrong, nobody knows since when.
    const KeptMemberPtr kept = soundness_.is_broken_at(size_ - 1) ? nullptr : this->kept();
    if (kept != nullptr) {
      shared_.keeper.left(id_, kept, position);
    }
  }
}

// On a thread that nobody waits for.
void DecodedMember::store_points() {
  shared_.keeper.save(id_);
  const std::lock_guard lock(mutex_);
  kept_ = nullptr;  // there is more now
}

bool DecodedMember::store_points_soon() {
  return shared_.pool.offer([self = shared_from_this()] { self->store_points(); });
}

// A run that waits for an idle thread to carry it out. Readers wait for it already, and don't begin
// what it was to save them.
struct DecodedMember::Ahead {
  Ahead(std::shared_ptr<DecodedMember> owner, std::uint64_t first, std::uint64_t last, Start from)
      : member(std::move(owner)),
        run{first, last, true},
        scope(std::make_unique<RunScope>(*member, run)),
        start(std::move(from)) {
    scope->cursor = std::move(start.cursor);  // parked again if nobody carries it out
  }

  void carry_out() {
    start.cursor = std::move(scope->cursor);
    member->carry_out(std::move(scope), std::move(start), {});
    if (member->shared_.keeper.is_due(member->id_, run.next > member->last_block())) {
      member->store_points();
    }
  }

  const std::shared_ptr<DecodedMember> member;
  Run run;
  std::unique_ptr<RunScope> scope;
  Start start;
};

// Lets an idle thread decode the blocks [first, last]; false if there is none.
bool DecodedMember::offer(std::uint64_t first, std::uint64_t last) {
  if (!shared_.pool.has_idle()) {
    return false;
  }
  const std::shared_ptr<Ahead> ahead = begin_ahead(first, last);
  return ahead == nullptr || shared_.pool.offer([ahead] { ahead->carry_out(); });
}

// Null if there is nothing to do, or it doesn't start right at one of these blocks: nobody makes a
// way to what nobody wants yet.
std::shared_ptr<DecodedMember::Ahead> DecodedMember::begin_ahead(std::uint64_t first,
                                                                 std::uint64_t last) {
  const KeptMemberPtr kept = this->kept();
  const std::lock_guard lock(mutex_);
  while (first <= last && cached(first)) {
    ++first;
  }
  if (first > last || is_under_way(first) || codec_ == nullptr ||
      soundness_.is_broken_at(first * kBlockSize)) {
    return nullptr;
  }
  const std::uint64_t begin = first * kBlockSize;
  Start start = nearest_point(kept, begin);
  start.cursor = shared_.idle_cursors.take(id_, begin, begin);
  return start.block() == first
             ? std::make_shared<Ahead>(shared_from_this(), first, last, std::move(start))
             : nullptr;
}

}  // namespace npyfs
