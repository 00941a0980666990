// Tells readers that go forward through a member from those that jump. Nobody says which read
// belongs to which reader, so it is guessed from the blocks alone, for the four latest.
#pragma once

#include <array>
#include <cstdint>

namespace npyfs {

class ForwardReaders {
 public:
  // The blocks [first, last] were read. True if that goes on where a reader was before, or is a
  // long read by itself.
  bool goes_forward(std::uint64_t first, std::uint64_t last);

 private:
  struct Reader {
    std::uint64_t next = 0;  // block expected of it; 0 for nobody
    bool moved_on = false;
    std::uint64_t last_use = 0;
  };
  std::array<Reader, 4> readers_;
  std::uint64_t uses_ = 0;
};

}  // namespace npyfs
