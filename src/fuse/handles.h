// Open files and directories, by the number the kernel passes back. What it hasn't released when
// the session ends (an unmount may overtake that) goes with the table.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "npyfs/source/source.h"
#include "npyfs/tree/tree.h"

#include "fuse/listing.h"

namespace npyfs {

// Reads in the queue hold it too, since a reader that was killed closes its file early.
struct Handle {
  Inode inode = 0;
  SourcePtr source;
  std::uint64_t opened_at = 0;  // a moment of DamagedMembers
};
using HandlePtr = std::shared_ptr<const Handle>;

// Thread-safe.
template <typename T>
class HandleTable {
 public:
  std::uint64_t add(std::shared_ptr<T> handle) {
    const std::lock_guard lock(mutex_);
    open_.emplace(++last_, std::move(handle));
    return last_;
  }

  // Null if there is no such handle.
  std::shared_ptr<T> find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(number);
    return found == open_.end() ? nullptr : found->second;
  }

  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    open_.erase(number);
  }

  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }

 private:
  mutable std::mutex mutex_;  // guards the rest
  std::unordered_map<std::uint64_t, std::shared_ptr<T>> open_;
  std::uint64_t last_ = 0;
};

using Handles = HandleTable<const Handle>;
using Listings = HandleTable<Listing>;

}  // namespace npyfs
