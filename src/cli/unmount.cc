#include "cli/unmount.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/fd.h"

#include "cli/run_program.h"

namespace npyfs {
namespace {

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

}  // namespace

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

}  // namespace npyfs
