// Memory for decoded blocks, used again: a fresh block costs 64 page faults and a fill with zeros,
// a tenth of the time it takes to decode one. Any thread; blocks may outlive this object.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace npyfs {

class BlockBuffers {
 public:
  // How many wait unused at most: 2 MiB.
  static constexpr std::size_t kMostFree = 8;

  BlockBuffers();

  // `size` bytes of any content. A full block comes back here when its last owner lets go of it.
  std::shared_ptr<std::vector<std::byte>> make(std::size_t size);

 private:
  using Buffer = std::unique_ptr<std::vector<std::byte>>;
  struct Free {
    std::mutex mutex;  // guards `buffers`; no other lock is taken under it
    std::vector<Buffer> buffers;
  };

  std::shared_ptr<Free> free_;
};

}  // namespace npyfs
