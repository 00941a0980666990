// Taking a mount away, whether its daemon answers or has died.
#pragma once

#include <string>

#include <sys/types.h>

namespace npyfs {

// The daemon of a mount, as its stats.json names it.
struct Daemon {
  bool dead = false;  // nobody answers
  pid_t pid = 0;      // 0 if unknown
};

Daemon daemon_of(const std::string& mountpoint);

// `path`: absolute, without symbolic links. With `dead`, files that are still open in it don't keep
// it: nobody would answer them. Throws Error with the way out; it starts with `shown_as`.
void unmount(const std::string& path, const std::string& shown_as, bool dead);

}  // namespace npyfs
