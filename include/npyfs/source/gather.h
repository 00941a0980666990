// One reply being put together: spans of bytes in their order, and what keeps them alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "npyfs/base/bytes.h"

namespace npyfs {

// Used by one thread. Lenders append in order; the bytes must stay as they are until it is
// destroyed.
class Gather {
 public:
  // Over 1,023 spans the kernel answers EINVAL and the reader hangs; small ones are dearer than a
  // copy.
  static constexpr std::size_t kMostSpans = 256;

  // `capacity`: how many bytes will be appended at most.
  explicit Gather(std::size_t capacity) : capacity_(capacity) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  // True once further bytes have to be copied into scratch instead of lent.
  bool full() const { return spans_.size() + 1 >= kMostSpans; }

  // Appends `bytes`, which `owner` keeps alive. Precondition: !full().
  void lend(Bytes bytes, std::shared_ptr<const void> owner);

  // Appends `length` bytes of our own and returns them, to be filled before the reply is sent.
  std::span<std::byte> scratch(std::size_t length);

  std::size_t size() const { return size_; }
  std::span<const iovec> spans() const { return spans_; }

 private:
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::vector<iovec> spans_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t scratch_used_ = 0;
  std::size_t scratch_size_ = 0;
};

}  // namespace npyfs
