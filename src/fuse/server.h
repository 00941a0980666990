// What the operations share: the tree, what is open, what goes wrong, and the threads that work for
// them. It is the user data of the session.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sys/statvfs.h>
#include <sys/types.h>

#include "npyfs/fuse/serve.h"
#include "npyfs/tree/tree.h"

#include "fuse/damaged_members.h"
#include "fuse/fuse_api.h"
#include "fuse/handles.h"
#include "fuse/long_reads.h"
#include "fuse/passthrough.h"
#include "fuse/stale_pages.h"
#include "fuse/statistics.h"

namespace npyfs {

// The way out where a thread can't be started.
inline constexpr std::string_view kHowToHaveThreads =
    "raise the limit of processes (ulimit -u, pids.max of the cgroup) or of memory (ulimit -v)";

// Const but for what is atomic or locked.
class Server {
 public:
  Server(Catalog catalog, const std::shared_ptr<Decoder>& decoder, const MountOptions& options,
         std::function<void()> ready);

  const Tree& tree() const { return tree_; }
  Statistics& statistics() { return statistics_; }
  LongReads& long_reads() { return *long_reads_; }
  StalePages& stale_pages() { return *stale_pages_; }
  Passthrough& passthrough() { return passthrough_; }
  Handles& handles() { return handles_; }
  Listings& listings() { return listings_; }
  DamagedMembers& damaged_members() { return damaged_members_; }
  const struct statvfs& volume() const { return volume_; }
  struct stat attributes_of(const Tree::Attributes& node) const;

  // Starts what needs threads. `session` is told of stale pages. Throws Error if they can't be had.
  void start(fuse_session* session);
  // Makes long work give up, and ends the threads, those of the decoder too.
  void stop();

  // Whether the work for `req` is no longer wanted: the reader went away, or the session ends.
  bool cancelled(fuse_req_t req) const;

  // Called once the kernel has said hello.
  void mounted() { ready_(); }

  // Logs a failure and keeps it for errors.json, once.
  void failed(Inode inode, const std::string& what, int errno_value);

 private:
  void count_volume();
  void report_decoder_faults();

  Statistics statistics_;
  const std::shared_ptr<Decoder> decoder_;
  Tree tree_;
  uid_t uid_;
  gid_t gid_;
  mode_t umask_;
  std::function<void()> ready_;
  struct statvfs volume_ = {};
  Handles handles_;
  Listings listings_;
  DamagedMembers damaged_members_;
  Passthrough passthrough_;
  fuse_session* session_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<StalePages> stale_pages_;
  std::unique_ptr<LongReads> long_reads_;
};

}  // namespace npyfs
