#include "fuse/passthrough.h"

namespace npyfs {

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)

void Passthrough::ask(fuse_conn_info* connection) {
  enabled_ = fuse_set_feature_flag(connection, FUSE_CAP_PASSTHROUGH);
  if (enabled_) {
    connection->max_backing_stack_depth = 1;  // a source on an overlay is one level deep already
  }
}

bool Passthrough::open(fuse_req_t req, Inode inode, const File& file, fuse_file_info* info) {
  const std::lock_guard lock(mutex_);
  if (!enabled_ || refused_.contains(inode)) {
    return false;
  }
  auto backing = backings_.find(inode);
  if (backing == backings_.end()) {
    const int id = fuse_passthrough_open(req, file.acquire()->fd());
    if (id <= 0) {
      refused_.insert(inode);
      return false;
    }
    backing = backings_.emplace(inode, Backing{id, 0}).first;
  }
  ++backing->second.opens;
  info->backing_id = backing->second.id;
  info->keep_cache = false;
  return true;
}

void Passthrough::release(fuse_req_t req, Inode inode) {
  const std::lock_guard lock(mutex_);
  const auto known = backings_.find(inode);
  if (known != backings_.end() && --known->second.opens == 0) {
    fuse_passthrough_close(req, known->second.id);
    backings_.erase(known);
  }
}

#else

void Passthrough::ask(fuse_conn_info*) {}
bool Passthrough::open(fuse_req_t, Inode, const File&, fuse_file_info*) { return false; }
void Passthrough::release(fuse_req_t, Inode) {}

#endif

}  // namespace npyfs
