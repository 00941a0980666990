// What is mounted where, as the kernel tells in /proc/self/mountinfo (proc(5)). Asking it never
// touches the mounts themselves, so it works for those that are dead or hang.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace npyfs {

struct Mounted {
  std::string mountpoint;     // absolute
  std::string type;           // "fuse.npyfs"
  std::string source;         // as the filesystem named itself
  std::optional<uid_t> user;  // who mounted it, where it is a FUSE filesystem
};

std::vector<Mounted> parse_mount_table(std::istream& table);

// The topmost mount exactly at this absolute path; nullopt if there is none.
std::optional<Mounted> mounted_at(const std::string& path);

// An absolute path for one that may not exist or lead to a dead mount: without symbolic links, as
// far as they can be followed. Throws Error if the directory it is in can't be resolved.
std::string resolve(const std::string& path);

}  // namespace npyfs
