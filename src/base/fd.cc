#include "npyfs/base/fd.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "npyfs/base/error.h"

namespace npyfs {

Fd::~Fd() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Fd open_readonly(const std::string& path, int at) {
  while (true) {
    Fd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.valid()) {
      return fd;
    }
    if (errno != EINTR) {
      throw_system(errno, path);
    }
  }
}

void pread_exact(int fd, std::span<std::byte> dst, std::uint64_t offset) {
  while (!dst.empty()) {
    const std::size_t piece = std::min<std::size_t>(dst.size(), std::size_t{1} << 30);
    const ssize_t got = ::pread(fd, dst.data(), piece, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw_system(errno, text_of("read of ", dst.size(), " bytes at ", offset));
    }
    if (got == 0) {
      throw_corrupt("the file ends at ", offset, ", ", dst.size(), " bytes too early");
    }
    dst = dst.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

}  // namespace npyfs
