#include "fuse/listing.h"

#include <algorithm>
#include <exception>

namespace npyfs {

void Listing::page(std::uint64_t offset, const Take& take, const std::function<void()>& reply) {
  const std::lock_guard lock(mutex_);
  std::size_t taken = 0;
  const auto counted = [&](const Entry& entry) {
    if (!take(entry)) {
      return false;
    }
    ++taken;
    offset = entry.next;
    return true;
  };
  bool full = false;
  if (!ready_.empty() && ready_from_ == offset) {
    full = !std::ranges::all_of(ready_, counted);
  }
  if (!full) {
    make_(offset, [&](const Entry& entry) {
      full = !counted(entry);
      return !full;
    });
  }
  ready_.clear();
  reply();
  if (full && taken > 0) {
    make_ready(offset, taken);
  }
}

// What fails here does so again when it is asked for.
void Listing::make_ready(std::uint64_t offset, std::size_t count) noexcept {
  try {
    ready_.reserve(count);
    make_(offset, [&](const Entry& entry) {
      ready_.push_back(entry);
      return ready_.size() < count;
    });
    ready_from_ = offset;
  } catch (const std::exception&) {
    ready_.clear();
  }
}

}  // namespace npyfs
