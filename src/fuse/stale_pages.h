// The kernel keeps pages of files it has read. When a source turns out to be changed, what it kept
// of its files must go, so that no later read mixes old pages with new failures. The same when a
// member turns out to be damaged: its last pages may have been read before anybody could know.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_set>
#include <vector>

#include "npyfs/tree/tree.h"

namespace npyfs {

class StalePages {
 public:
  // `invalidate(inode)` tells the kernel. It is called from a thread of its own: the kernel may
  // hold locks that a request in progress waits for.
  StalePages(const Tree& tree, std::function<void(Inode)> invalidate);
  StalePages(const StalePages&) = delete;
  StalePages& operator=(const StalePages&) = delete;

  // From now on the kernel may keep pages of this file.
  void opened(Inode inode);

  // Some source was found changed: looks through all files that were opened, soon.
  void look();

  // The member (Decoder) is damaged: drops its files that were opened, soon. Any thread.
  void damaged(std::uint64_t member_id);

 private:
  void work(const std::stop_token& stop);
  void look_through(const std::unordered_set<std::uint64_t>& damaged);
  bool is_changed(Inode inode) const;

  const Tree& tree_;
  std::function<void(Inode)> invalidate_;
  std::vector<std::atomic<std::uint8_t>> opened_;  // of each item, a bit a view
  std::unordered_set<Inode> done_;                 // changed and dropped; only the thread
  std::mutex mutex_;                               // guards wanted_ and damaged_
  std::condition_variable_any changed_;
  bool wanted_ = false;
  std::unordered_set<std::uint64_t> damaged_;
  std::jthread thread_;
};

}  // namespace npyfs
