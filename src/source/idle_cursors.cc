#include "source/idle_cursors.h"

#include <algorithm>
#include <utility>

namespace npyfs {

void IdleCursors::park(std::uint64_t member, std::unique_ptr<Cursor> cursor) noexcept {
  std::unique_ptr<Cursor> dropped;  // destroyed once the mutex isn't held
  const std::lock_guard lock(mutex_);
  const auto of_member = [member](const Parked& parked) { return parked.member == member; };
  auto out = std::ranges::find_if(parked_, [&](const Parked& parked) {
    return of_member(parked) && parked.cursor->position() == cursor->position();
  });
  if (out == parked_.end()) {
    if (std::ranges::count_if(parked_, of_member) >= std::ptrdiff_t{kMostOfAMember}) {
      out = std::ranges::find_if(parked_, of_member);
    } else if (parked_.size() >= kMost) {
      out = parked_.begin();
    }
  }
  if (out != parked_.end()) {
    dropped = std::move(out->cursor);
    parked_.erase(out);
  }
  parked_.push_back({member, std::move(cursor)});
}

std::unique_ptr<Cursor> IdleCursors::take(std::uint64_t member, std::uint64_t lowest,
                                          std::uint64_t highest) {
  const std::lock_guard lock(mutex_);
  auto best = parked_.end();
  for (auto at = parked_.begin(); at != parked_.end(); ++at) {
    const std::uint64_t position = at->cursor->position();
    const bool in_range = at->member == member && position >= lowest && position <= highest;
    if (in_range && (best == parked_.end() || position > best->cursor->position())) {
      best = at;
    }
  }
  if (best == parked_.end()) {
    return nullptr;
  }
  std::unique_ptr<Cursor> cursor = std::move(best->cursor);
  parked_.erase(best);
  return cursor;
}

bool IdleCursors::has(std::uint64_t member, std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(parked_, [&](const Parked& parked) {
    return parked.member == member && parked.cursor->position() == position;
  });
}

std::size_t IdleCursors::count() const {
  const std::lock_guard lock(mutex_);
  return parked_.size();
}

}  // namespace npyfs
