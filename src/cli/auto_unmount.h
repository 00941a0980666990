// A mount point that doesn't stay dead when its daemon is killed.
//
// fusermount3 offers the same. It finds out which mount was its own by counting those of the whole
// system twice, and leaves the mount where it is if another one came or went in between.
#pragma once

#include <string>

#include <sys/types.h>

#include "npyfs/base/fd.h"

namespace npyfs {

// Starts a process that waits for the end of this one, or of this object, and then takes the mount
// away if nobody answers there any more. To be made while there is one thread, and little memory:
// the process keeps what there is.
class AutoUnmount {
 public:
  // `mountpoint`: absolute, without symbolic links; may be mounted later. Throws Error.
  explicit AutoUnmount(const std::string& mountpoint);
  AutoUnmount(const AutoUnmount&) = delete;
  AutoUnmount& operator=(const AutoUnmount&) = delete;
  ~AutoUnmount();

 private:
  Fd alive_;  // closed when we end, however that is
  pid_t watcher_;
};

}  // namespace npyfs
