// Whether this machine can mount at all, found out before anything is tried, so that the answer can
// be what to do about it.
#pragma once

#include <string>

namespace npyfs {

struct FuseSetup {
  std::string device = "/dev/fuse";
  std::string configuration = "/etc/fuse.conf";
  bool is_root = false;
  bool may_mount = false;       // has CAP_SYS_ADMIN
  bool has_fusermount = false;  // which mounts for those who may not

  // Of this machine and process.
  static FuseSetup here();
};

// Throws Error, with the way out, if mounting can't work. `allow_others`: allow_other or allow_root
// is wanted.
void check_fuse(const FuseSetup& setup, bool allow_others);

}  // namespace npyfs
