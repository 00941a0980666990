// Where the restart points in memory meet those in the store: which of a member's the store lacks,
// and what was loaded from it. A mount without a store has a keeper that does nothing.
//
// Any thread; no other lock is taken under its mutex, and nothing is read or written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "npyfs/source/restart_store.h"

#include "source/kept_points.h"
#include "source/restart_points.h"

namespace npyfs {

// What the store had of a member when it was asked.
struct KeptMember {
  std::string key;
  std::uint64_t size = 0;
  KeptPoints points;
};
using KeptMemberPtr = std::shared_ptr<const KeptMember>;

class PointKeeper {
 public:
  // So many points of a member are worth a write before a pass is at its end.
  static constexpr std::size_t kManyUnsaved = 128;

  PointKeeper(RestartPoints& points, std::shared_ptr<const RestartStore> store)
      : points_(points), store_(std::move(store)) {}

  bool is_on() const { return store_ != nullptr; }

  // Never null. Only while is_on().
  KeptMemberPtr find(const Codec& codec, std::uint64_t size) const;

  // Null unless it is as it was written.
  RestartPointPtr load(const KeptMember& kept, std::uint64_t position);

  // A point at `position` has been left in memory.
  void left(std::uint64_t member, const KeptMemberPtr& kept, std::uint64_t position);

  // Whether it is time to save; `at_end`: there are no more points to come for now.
  bool is_due(std::uint64_t member, bool at_end) const;

  // Writes what the store lacks of the member, or of all.
  void save(std::uint64_t member);
  void save_all();

  // The points of `kept` are not what they should be, or the member is damaged and they may be why.
  // What to go on with: none.
  KeptMemberPtr forget(std::uint64_t member, const KeptMember& kept);

  std::uint64_t loaded() const { return loaded_; }
  std::uint64_t saved() const { return saved_; }

 private:
  struct Unsaved {
    KeptMemberPtr kept;
    std::size_t points = 0;
  };

  RestartPoints& points_;
  const std::shared_ptr<const RestartStore> store_;
  std::atomic<std::uint64_t> loaded_{0};
  std::atomic<std::uint64_t> saved_{0};
  mutable std::mutex mutex_;                            // guards unsaved_
  std::unordered_map<std::uint64_t, Unsaved> unsaved_;  // by member
};

}  // namespace npyfs
