#include "npyfs/source/gather.h"

#include <cassert>
#include <utility>

namespace npyfs {

void Gather::lend(Bytes bytes, std::shared_ptr<const void> owner) {
  assert(!full());
  if (bytes.empty()) {
    return;
  }
  // iovec has no const form; the kernel only reads.
  spans_.push_back({const_cast<std::byte*>(bytes.data()), bytes.size()});
  size_ += bytes.size();
  if (owners_.empty() || owners_.back() != owner) {
    owners_.push_back(std::move(owner));
  }
}

std::span<std::byte> Gather::scratch(std::size_t length) {
  assert(length <= capacity_ - size_);
  if (scratch_ == nullptr) {
    // One buffer for all that can still come, so that neighbours in it stay one span.
    scratch_size_ = capacity_ - size_;
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(scratch_size_);
  }
  std::byte* const begin = scratch_.get() + scratch_used_;
  scratch_used_ += length;
  const bool continues =
      !spans_.empty() &&
      static_cast<std::byte*>(spans_.back().iov_base) + spans_.back().iov_len == begin;
  if (continues) {
    spans_.back().iov_len += length;
  } else if (length > 0) {
    spans_.push_back({begin, length});
  }
  size_ += length;
  return {begin, length};
}

}  // namespace npyfs
