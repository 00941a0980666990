#include "source/point_keeper.h"

#include <exception>
#include <utility>

namespace npyfs {

KeptMemberPtr PointKeeper::find(const Codec& codec, std::uint64_t size) const {
  std::string key;
  try {
    key = codec.restart_key();
  } catch (const Error&) {
    // The source can't be read: whoever decodes it will see.
  }
  KeptPoints points = key.empty() ? KeptPoints() : store_->find(key, size);
  return std::make_shared<const KeptMember>(KeptMember{std::move(key), size, std::move(points)});
}

RestartPointPtr PointKeeper::load(const KeptMember& kept, std::uint64_t position) {
  RestartPointPtr point = kept.points.load(position);
  loaded_ += point == nullptr ? 0 : 1;
  return point;
}

void PointKeeper::left(std::uint64_t member, const KeptMemberPtr& kept, std::uint64_t position) {
  if (kept->key.empty() || kept->points.has(position)) {
    return;
  }
  const std::lock_guard lock(mutex_);
  Unsaved& unsaved = unsaved_[member];
  unsaved.kept = kept;
  ++unsaved.points;
}

bool PointKeeper::is_due(std::uint64_t member, bool at_end) const {
  const std::lock_guard lock(mutex_);
  const auto found = unsaved_.find(member);
  return found != unsaved_.end() && (at_end || found->second.points >= kManyUnsaved);
}

void PointKeeper::save(std::uint64_t member) {
  KeptMemberPtr kept;
  {
    const std::lock_guard lock(mutex_);
    const auto found = unsaved_.find(member);
    if (found == unsaved_.end()) {
      return;
    }
    kept = std::move(found->second.kept);
    unsaved_.erase(found);
  }
  try {
    saved_ += store_->save(kept->key, kept->size, points_.all(member));
  } catch (const std::exception&) {
    // Out of memory: the points are lost to the next mount, which is all they are for.
  }
}

void PointKeeper::save_all() {
  while (true) {
    std::uint64_t member = 0;
    {
      const std::lock_guard lock(mutex_);
      if (unsaved_.empty()) {
        return;
      }
      member = unsaved_.begin()->first;
    }
    save(member);
  }
}

KeptMemberPtr PointKeeper::forget(std::uint64_t member, const KeptMember& kept) {
  {
    const std::lock_guard lock(mutex_);
    unsaved_.erase(member);
  }
  if (!kept.points.entries().empty()) {
    store_->forget(kept.key);
  }
  return std::make_shared<const KeptMember>(KeptMember{kept.key, kept.size, KeptPoints()});
}

}  // namespace npyfs
