// Files that are served just as they lie on disk needn't pass through us at all: with a new enough
// libfuse and kernel, and the privilege for it, the kernel reads them from the file itself.
//
// Built against an older libfuse, nothing here does anything. The kernel refuses to mix: while a
// file is open one way it can't be opened the other, so each inode is decided once, for good.
#pragma once

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "npyfs/source/file.h"
#include "npyfs/tree/tree.h"

#include "fuse/fuse_api.h"

namespace npyfs {

// Thread-safe.
class Passthrough {
 public:
  // Asks for it when the session begins. Without the privilege (CAP_SYS_ADMIN) opening a backing
  // file fails, and files are served as ever.
  void ask(fuse_conn_info* connection);

  // Sets up `info` so that the kernel reads `file` itself; false if that can't be, and `info` is as
  // it was. One release() for each call. Throws Error if the file can't be opened.
  bool open(fuse_req_t req, Inode inode, const File& file, fuse_file_info* info);
  void release(fuse_req_t req, Inode inode);

 private:
  struct Backing {
    int id = 0;
    unsigned opens = 0;
  };
  bool enabled_ = false;  // const once the session runs
  std::mutex mutex_;      // guards the rest
  std::unordered_map<Inode, Backing> backings_;
  std::unordered_set<Inode> refused_;
};

}  // namespace npyfs
