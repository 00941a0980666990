// The mount itself: a Tree answered to the kernel until it is unmounted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "npyfs/source/decoded.h"
#include "npyfs/tree/catalog.h"
#include "npyfs/tree/tree.h"

namespace npyfs {

struct MountOptions {
  std::string source;      // absolute path; shown as the filesystem's name
  std::string mountpoint;  // absolute path of an existing directory
  // What libfuse and the kernel are to be told besides "ro", the name and the type: "allow_other",
  // "noexec", "max_read=131072" … no commas inside.
  std::vector<std::string> kernel_options;
  bool debug = false;  // every request to stderr
  bool single_threaded = false;
  unsigned threads = 0;      // that answer the kernel; 0: by the number of cores
  std::optional<uid_t> uid;  // default: who mounts
  std::optional<gid_t> gid;
  mode_t umask = 022;
  ViewSet listed = kUsualViews;
  // KiB that the kernel reads ahead; needs root, otherwise a warning. If not given, 256 where that
  // may be set.
  std::optional<unsigned> readahead_kib;
};

// Mounts, calls `ready` once the mount answers, and serves it until it is unmounted or SIGTERM,
// SIGINT or SIGHUP arrives; then unmounts. These stay blocked in the calling thread, so that
// another one doesn't disturb what it has to tidy up. `warning`: what isn't as asked for, for
// whoever mounts to read; empty if nothing. `ready` runs in a thread of its own. Uses spdlog's
// default logger. Throws Error if it can't mount, with the way out; `ready` was then not called.
// Call it once, in the process that stays.
void serve(Catalog catalog, const std::shared_ptr<Decoder>& decoder, const MountOptions& options,
           const std::function<void(const std::string& warning)>& ready);

// The libfuse that is linked: "3.14.0".
std::string libfuse_version();

}  // namespace npyfs
