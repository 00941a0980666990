#include "npyfs/fuse/detach.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/fd.h"
#include "npyfs/base/signals.h"

namespace npyfs {
namespace {

volatile sig_atomic_t child_pid = 0;

void pass_on(int signal) {
  if (child_pid > 0) {
    ::kill(child_pid, signal);
  }
}

void pass_on_signals_to(pid_t child) {
  child_pid = child;
  struct sigaction action = {};
  action.sa_handler = pass_on;
  for (const int signal : kEndSignals) {
    if (!is_ignored(signal)) {
      ::sigaction(signal, &action, nullptr);
    }
  }
}

// Whoever started us may have closed the standard descriptors. Nothing else may get their numbers:
// the streams would write into it, and leaving the terminal would close it.
void have_standard_descriptors() {
  int fd = STDIN_FILENO;
  while (fd >= 0 && fd <= STDERR_FILENO) {
    fd = ::open("/dev/null", O_RDWR);
  }
  const Fd spare(fd);
}

// Leaves the terminal, the session and the directory of whoever started us.
void leave() {
  ::setsid();
  if (::chdir("/") != 0) {
    std::perror("npyfs: /");
  }
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(null.get(), standard);
  }
}

[[noreturn]] void be_child(const std::function<int(const std::function<void()>& detach)>& child,
                           Fd report) {
  int status = 1;
  try {
    status = child([&] {
      leave();
      const char ready = 'r';
      while (::write(report.get(), &ready, 1) < 0 && errno == EINTR) {
      }
      report = Fd();
    });
  } catch (const std::exception& e) {
    std::cerr << "npyfs: " << e.what() << std::endl;
  }
  std::cout.flush();
  std::exit(status);  // NOLINT(concurrency-mt-unsafe): the threads of `child` have ended
}

}  // namespace

int run_detached(const std::function<int(const std::function<void()>& detach)>& child) {
  have_standard_descriptors();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_system(errno, "pipe");
  }
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  std::cout.flush();
  std::cerr.flush();
  // A signal before they are passed on would end us alone.
  std::optional<SignalsBlocked> blocked(std::in_place);
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw_system(errno, "fork");
  }
  if (pid == 0) {
    blocked.reset();
    read_end = Fd();
    be_child(child, std::move(write_end));
  }
  pass_on_signals_to(pid);
  blocked.reset();
  write_end = Fd();
  char ready = 0;
  ssize_t got = 0;
  do {
    got = ::read(read_end.get(), &ready, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) {
    return 0;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return result == 0 ? 1 : result;
}

}  // namespace npyfs
