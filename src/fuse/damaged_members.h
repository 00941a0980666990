// Which members turned out to be damaged in bytes that had been read, and when: whoever had a file
// of one open then may have them from the kernel's pages, which nobody would be given any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace npyfs {

// Thread-safe.
class DamagedMembers {
 public:
  // How many faults were found so far: a moment to compare with.
  std::uint64_t now() const { return now_; }

  void add(std::uint64_t member_id) {
    const std::lock_guard lock(mutex_);
    found_[member_id] = ++now_;
  }

  // Whether a fault of the member was found since.
  bool found_since(std::optional<std::uint64_t> member_id, std::uint64_t moment) const {
    if (!member_id || now_ == moment) {
      return false;
    }
    const std::lock_guard lock(mutex_);
    const auto found = found_.find(*member_id);
    return found != found_.end() && found->second > moment;
  }

 private:
  std::atomic<std::uint64_t> now_ = 0;
  mutable std::mutex mutex_;                                // guards found_
  std::unordered_map<std::uint64_t, std::uint64_t> found_;  // the moment of its last fault
};

}  // namespace npyfs
