#include "cli/auto_unmount.h"

#include <array>
#include <cerrno>
#include <exception>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npyfs/base/error.h"

#include "cli/unmount.h"

namespace npyfs {
namespace {

// Leaves nothing else open: whoever waits for the end of the daemon's output, say, doesn't wait for
// us. Returns `fd`, which may have got another number.
Fd keep_only(const Fd& fd) {
  Fd kept(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(null.get(), standard);
  }
  null = Fd();
  const auto number = static_cast<unsigned>(kept.get());
  if (number > STDERR_FILENO + 1) {
    ::close_range(STDERR_FILENO + 1, number - 1, 0);
  }
  ::close_range(number + 1, ~0U, 0);
  return kept;
}

[[noreturn]] void watch(const std::string& mountpoint, const Fd& read_end) {
  ::setsid();
  ::prctl(PR_SET_NAME, "npyfs-unmount");  // "killall -9 npyfs" is what we are here for
  if (::chdir("/") != 0) {
    ::_exit(1);
  }
  const Fd daemon_alive = keep_only(read_end);
  char byte = 0;
  while (::read(daemon_alive.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  try {
    if (daemon_of(mountpoint).dead) {
      unmount(mountpoint, mountpoint, true);
    }
  } catch (const std::exception&) {  // there is nobody left to tell
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

AutoUnmount::AutoUnmount(const std::string& mountpoint) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_system(errno, "pipe");
  }
  const Fd read_end(ends[0]);
  alive_ = Fd(ends[1]);
  watcher_ = ::fork();
  if (watcher_ < 0) {
    throw_system(errno, "fork");
  }
  if (watcher_ == 0) {
    watch(mountpoint, read_end);
  }
}

AutoUnmount::~AutoUnmount() {
  alive_ = Fd();
  while (::waitpid(watcher_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace npyfs
