#include <cerrno>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/fd.h"

#include "cli/command.h"
#include "cli/mount_table.h"
#include "cli/unmount.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

constexpr int kMostWaitMs = 60'000;

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
  if (const uid_t me = ::geteuid(); me != 0 && mounted->user.value_or(me) != me) {
    throw_error(EPERM, text_of(mountpoint, ": mounted by user ", *mounted->user, ", not by you (",
                               me, "); that user or root may unmount it"));
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
