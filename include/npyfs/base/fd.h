// A file descriptor that closes itself, and reading from it that can't come up short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>

namespace npyfs {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Opens `path` for reading, close-on-exec, relative to the directory `at` if given. Throws Error
// with the errno of open(2) and `path` in the text. Never waits for a FIFO's writer.
Fd open_readonly(const std::string& path, int at = AT_FDCWD);

// Fills `dst` from `offset`; retries EINTR. Throws Error: the errno of pread(2), or EIO if the file
// ends first.
void pread_exact(int fd, std::span<std::byte> dst, std::uint64_t offset);

}  // namespace npyfs
