#include "source/member_table.h"

#include <iterator>
#include <utility>

#include "source/decoded_member.h"

namespace npyfs {

std::shared_ptr<DecodedMember> MemberTable::open(
    std::uint64_t id, const std::function<std::shared_ptr<DecodedMember>()>& make) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[id];
  if (entry.member == nullptr) {
    entry.member = make();
  } else if (entry.opens == 0) {
    closed_.erase(entry.closed);
  }
  ++entry.opens;
  return entry.member;
}

void MemberTable::close(std::uint64_t id) {
  std::shared_ptr<DecodedMember> dropped;  // destroyed once the mutex isn't held
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  Entry& entry = found->second;
  if (--entry.opens > 0) {
    return;
  }
  if (!entry.member->close()) {
    dropped = std::move(entry.member);
    entries_.erase(found);
    return;
  }
  entry.closed = closed_.insert(closed_.end(), id);
  if (closed_.size() > kMostClosed) {
    const auto oldest = entries_.find(closed_.front());
    dropped = std::move(oldest->second.member);
    entries_.erase(oldest);
    closed_.pop_front();
  }
}

std::size_t MemberTable::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace npyfs
