#include "fuse/stale_pages.h"

#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/base/signals.h"

namespace npyfs {

StalePages::StalePages(const Tree& tree, std::function<void(Inode)> invalidate)
    : tree_(tree), invalidate_(std::move(invalidate)), opened_(tree.catalog().count()) {
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void StalePages::opened(Inode inode) {
  if (inode >= Tree::kFirst && (inode - Tree::kFirst) / Tree::kPerItem < opened_.size()) {
    const auto bit = static_cast<std::uint8_t>(1u << (inode - Tree::kFirst) % Tree::kPerItem);
    opened_[(inode - Tree::kFirst) / Tree::kPerItem].fetch_or(bit, std::memory_order_relaxed);
  }
}

void StalePages::look() {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  changed_.notify_all();
}

void StalePages::damaged(std::uint64_t member_id) {
  const std::lock_guard lock(mutex_);
  damaged_.insert(member_id);
  wanted_ = true;
  changed_.notify_all();
}

void StalePages::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return wanted_; })) {
    wanted_ = false;
    const auto damaged = std::exchange(damaged_, {});
    lock.unlock();
    look_through(damaged);
    lock.lock();
  }
}

void StalePages::look_through(const std::unordered_set<std::uint64_t>& damaged) {
  for (std::size_t item = 0; item < opened_.size(); ++item) {
    const unsigned views = opened_[item].load(std::memory_order_relaxed);
    if (views == 0) {
      continue;
    }
    const auto member = tree_.catalog().member_id(static_cast<ItemId>(item));
    const bool is_damaged = member && damaged.contains(*member);
    for (Inode view = 0; views >> view != 0; ++view) {
      const Inode inode = Tree::kFirst + Tree::kPerItem * item + view;
      if ((views >> view & 1) == 0 || done_.contains(inode)) {
        continue;
      }
      if (is_changed(inode)) {
        done_.insert(inode);
        invalidate_(inode);
      } else if (is_damaged) {
        invalidate_(inode);
      }
    }
  }
}

bool StalePages::is_changed(Inode inode) const {
  try {
    tree_.check(inode);
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace npyfs
