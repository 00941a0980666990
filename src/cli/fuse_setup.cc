#include "cli/fuse_setup.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string_view>

#include <unistd.h>

#include "npyfs/base/error.h"

#include "cli/run_program.h"

namespace npyfs {
namespace {

constexpr unsigned kSysAdmin = 21;  // CAP_SYS_ADMIN, capabilities(7)

std::uint64_t effective_capabilities() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "CapEff:") {
      std::uint64_t bits = 0;
      status >> std::hex >> bits;
      return bits;
    }
  }
  return 0;
}

// fuse.conf(5): a word on a line of its own.
bool allows_others(const std::string& configuration) {
  std::ifstream file(configuration);
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t begin = line.find_first_not_of(" \t");
    const std::size_t end = line.find_last_not_of(" \t\r");
    if (begin != std::string::npos && line.substr(begin, end - begin + 1) == "user_allow_other") {
      return true;
    }
  }
  return false;
}

}  // namespace

FuseSetup FuseSetup::here() {
  FuseSetup setup;
  setup.is_root = ::geteuid() == 0;
  setup.may_mount = (effective_capabilities() >> kSysAdmin & 1) != 0;
  setup.has_fusermount = has_program("fusermount3");
  return setup;
}

void check_fuse(const FuseSetup& setup, bool allow_others) {
  if (::access(setup.device.c_str(), F_OK) != 0) {
    throw_error(ENODEV, setup.device +
                            ": there is no FUSE here; 'apt install fuse3' and 'modprobe fuse' "
                            "bring it, a container needs --device /dev/fuse --cap-add "
                            "SYS_ADMIN, and 'npyfs extract' does without");
  }
  if (::access(setup.device.c_str(), R_OK | W_OK) != 0) {
    throw_error(errno, setup.device + ": you may not open it; root can permit it with 'chmod 666 " +
                           setup.device + "', and 'npyfs extract' does without");
  }
  if (setup.is_root && !setup.may_mount) {
    throw_error(EPERM,
                "mounting isn't permitted here; start the container with --device /dev/fuse "
                "--cap-add SYS_ADMIN, or use 'npyfs extract', which does without");
  }
  if (!setup.may_mount && !setup.has_fusermount) {
    throw_error(ENOENT,
                "there is no fusermount3, which mounts for other users than root; 'apt install "
                "fuse3' brings it");
  }
  if (allow_others && !setup.is_root && !allows_others(setup.configuration)) {
    throw_error(EPERM, "allow_other isn't permitted to users; a line 'user_allow_other' in " +
                           setup.configuration + " permits it, or mount as root or without it");
  }
}

}  // namespace npyfs
