#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/fd.h"

#include "cli/command.h"
#include "cli/mount_table.h"
#include "cli/run_program.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

constexpr int kMostWaitMs = 60'000;

// The daemon of a mount, as its stats.json names it.
struct Daemon {
  bool dead = false;  // nobody answers
  pid_t pid = 0;      // 0 if unknown
};

// The number after "pid" in stats.json.
pid_t pid_in(std::string_view json) {
  constexpr std::string_view kKey = "\"pid\": ";
  const std::size_t at = json.find(kKey);
  pid_t pid = 0;
  if (at != std::string_view::npos) {
    std::from_chars(json.data() + at + kKey.size(), json.data() + json.size(), pid);
  }
  return pid;
}

Daemon daemon_of(const std::string& mountpoint) {
  Daemon daemon;
  const std::string path = mountpoint + "/.npyfs/stats.json";
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    daemon.dead = errno == ENOTCONN || errno == ECONNABORTED;
    return daemon;
  }
  std::array<char, 4096> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  daemon.pid = size > 0 ? pid_in({text.data(), static_cast<std::size_t>(size)}) : 0;
  return daemon;
}

// A handle on the process, so that another one that gets its number later isn't waited for. Not
// valid if it is none of ours that can be seen: one in another PID namespace, say.
Fd handle_on(pid_t pid) {
  if (pid <= 0) {
    return {};
  }
  Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  std::ifstream name_file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(name_file, name);
  return name.find("npyfs") != std::string::npos ? std::move(handle) : Fd();
}

// False if it still runs after kMostWaitMs.
bool wait_for_end(const Fd& process) {
  if (!process.valid()) {
    return true;
  }
  pollfd wanted = {process.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wanted, 1, kMostWaitMs);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

[[noreturn]] void throw_busy(const std::string& shown_as) {
  throw_error(EBUSY, shown_as +
                         ": busy: a file in it is open, or it is somebody's working directory; "
                         "'fuser -vm " +
                         shown_as + "' or 'lsof " + shown_as +
                         "' shows whose; end that and try again");
}

// What is left for those who may not call umount2.
void unmount_as_user(const std::string& path, const std::string& shown_as, bool lazy) {
  if (!has_program("fusermount3")) {
    throw_error(
        EPERM, shown_as + ": unmounting takes root, or fusermount3; 'apt install fuse3' brings it");
  }
  std::vector<std::string> words = {"fusermount3", "-u", path};
  if (lazy) {
    words.insert(words.begin() + 1, "-z");
  }
  const ProgramResult result = run_program(words);
  if (result.status == 0) {
    return;
  }
  if (result.output.find("busy") != std::string::npos) {
    throw_busy(shown_as);
  }
  throw_error(EPERM,
              shown_as + ": " + (result.output.empty() ? "can't be unmounted" : result.output));
}

void unmount(const std::string& path, const std::string& shown_as, bool dead) {
  if (::umount2(path.c_str(), UMOUNT_NOFOLLOW) == 0) {
    return;
  }
  if (errno == EBUSY && !dead) {
    throw_busy(shown_as);
  }
  if (errno == EBUSY && ::umount2(path.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) == 0) {
    return;
  }
  if (errno != EPERM) {
    throw_system(errno, shown_as);
  }
  unmount_as_user(path, shown_as, dead);
}

void umount(const std::string& mountpoint, std::ostream& out) {
  const std::string path = resolve(mountpoint);
  const auto mounted = mounted_at(path);
  if (!mounted) {
    throw_error(EINVAL, mountpoint + ": nothing is mounted there");
  }
  const Daemon daemon = daemon_of(path);
  const bool is_ours = mounted->type == "fuse.npyfs" || daemon.pid > 0;
  if (!is_ours) {
    throw_error(EINVAL, mountpoint + ": not a mount of npyfs but of type " + mounted->type +
                            "; umount(8) ends it");
  }
  const Fd process = handle_on(daemon.pid);
  unmount(path, mountpoint, daemon.dead);
  if (daemon.dead) {
    out << "npyfs: " << mountpoint << ": its program had died; unmounted\n";
  } else if (!wait_for_end(process)) {
    throw_error(EBUSY, text_of(mountpoint, ": unmounted, but its program, process ", daemon.pid,
                               ", hasn't ended after ", kMostWaitMs / 1000, " seconds"));
  }
}

}  // namespace

int umount_verb(Words words, std::ostream& out, std::ostream& err) {
  Command command(
      "umount", "umount MOUNTPOINT...",
      "Ends mounts of npyfs, and returns when their programs are gone. A mount whose program\n"
      "has died is cleared away.");
  std::vector<std::string> mountpoints;
  command.arguments("MOUNTPOINT", mountpoints, "where it is mounted");
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("MOUNTPOINT", mountpoints.empty() ? "" : mountpoints.front());
  int status = 0;
  for (const std::string& mountpoint : mountpoints) {
    try {
      umount(mountpoint, err);
    } catch (const Error& e) {
      err << "npyfs: " << e.what() << '\n';
      status = 1;
    }
  }
  return status;
}

}  // namespace npyfs
