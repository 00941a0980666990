#include "fuse/operations.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include <spdlog/spdlog.h>

#include "npyfs/base/error.h"
#include "npyfs/source/cancel.h"

#include "fuse/listing.h"
#include "fuse/server.h"

namespace npyfs {
namespace {

// Nothing changes while mounted, so the kernel may keep what it knows: an hour, or until it is
// told.
constexpr double kForever = 3600;

// Beyond so many children of one directory, entries go out without a node: a listing of millions of
// files would leave gigabytes of inodes in the kernel that nobody asked for.
constexpr std::uint64_t kNodesPerListing = 2 + 8 * 100'000;

Server& server_of(fuse_req_t req) { return *static_cast<Server*>(fuse_req_userdata(req)); }

// Runs `body`, whose last act is its one fuse_reply_*. If it throws, it has not replied, and this
// replies for it. The only catch blocks once mounted.
template <typename Body>
void reply(fuse_req_t req, Inode inode, Body&& body) noexcept {
  Server& server = server_of(req);
  int errno_value = EIO;
  try {
    body(server);
    return;
  } catch (const Error& e) {
    errno_value = e.errno_value();
    server.failed(inode, e.what(), errno_value);
  } catch (const std::bad_alloc&) {
    errno_value = ENOMEM;
  } catch (const std::exception& e) {
    server.failed(inode, e.what(), errno_value);
  }
  fuse_reply_err(req, errno_value);
}

// The same for a request that has just come.
template <typename Body>
void answer(fuse_req_t req, Inode inode, Body&& body) noexcept {
  server_of(req).statistics().requests.fetch_add(1, std::memory_order_relaxed);
  reply(req, inode, std::forward<Body>(body));
}

void log_reply(int result, Inode inode) {
  if (result != 0 && result != -ENOENT) {  // ENOENT: the reader was interrupted
    spdlog::error("reply to a request on inode {}: {}", inode, errno_name(-result));
  }
}

fuse_entry_param entry_of(const Server& server, const Tree::Attributes& node) {
  fuse_entry_param entry = {};
  entry.ino = node.inode;
  entry.attr = server.attributes_of(node);
  entry.attr_timeout = node.is_volatile ? 0 : kForever;
  entry.entry_timeout = kForever;
  return entry;
}

void op_init(void* user_data, fuse_conn_info* connection) {
  const auto want = [&](unsigned flag, bool wanted) {
    if (wanted && (connection->capable & flag) != 0) {
      connection->want |= flag;
    } else if (!wanted) {
      connection->want &= ~flag;
    }
  };
  // Splicing is slower than lending the mapping, and hides a file that was cut.
  want(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
  want(FUSE_CAP_READDIRPLUS, true);
  want(FUSE_CAP_READDIRPLUS_AUTO, false);
  want(FUSE_CAP_AUTO_INVAL_DATA, false);
  // With it, who is killed in a direct read hangs until that is answered.
  want(FUSE_CAP_ASYNC_DIO, false);
  want(FUSE_CAP_EXPLICIT_INVAL_DATA, true);
  want(FUSE_CAP_PARALLEL_DIROPS, true);
  // Decoding takes its time, so more reads may be under way than the default allows.
  connection->max_background = 64;
  connection->congestion_threshold = 48;
  connection->time_gran = 1;
  auto& server = *static_cast<Server*>(user_data);
  server.passthrough().ask(connection);
  server.mounted();
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  answer(req, parent, [&](Server& server) {
    const auto found = server.tree().lookup(parent, name);
    fuse_entry_param entry = {};  // inode 0: there is none, and the kernel may remember that
    entry.entry_timeout = kForever;
    if (found) {
      entry = entry_of(server, server.tree().attributes(*found));
    }
    log_reply(fuse_reply_entry(req, &entry), parent);
  });
}

void op_getattr(fuse_req_t req, fuse_ino_t inode, fuse_file_info*) {
  answer(req, inode, [&](Server& server) {
    const Tree::Attributes node = server.tree().attributes(inode);
    const struct stat status = server.attributes_of(node);
    log_reply(fuse_reply_attr(req, &status, node.is_volatile ? 0 : kForever), inode);
  });
}

void op_open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  answer(req, inode, [&](Server& server) {
    if ((info->flags & O_ACCMODE) != O_RDONLY) {
      fuse_reply_err(req, EROFS);
      return;
    }
    const Tree::Attributes node = server.tree().attributes(inode);
    auto handle = std::make_shared<Handle>();
    handle->inode = inode;
    handle->source = server.tree().open(inode);
    handle->opened_at = server.damaged_members().now();
    info->direct_io = node.is_volatile;
    info->keep_cache = !node.is_volatile;
    server.tree().check(inode);
    server.stale_pages().opened(inode);
    const auto* file = dynamic_cast<const File*>(handle->source.get());
    if (file != nullptr && server.passthrough().open(req, inode, *file, info)) {
      server.statistics().passthrough_opens.fetch_add(1, std::memory_order_relaxed);
    }
    info->fh = server.handles().add(std::move(handle));
    if (fuse_reply_open(req, info) != 0) {  // interrupted: there will be no release
      server.handles().remove(info->fh);
      server.passthrough().release(req, inode);
    }
  });
}

void op_release(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  answer(req, inode, [&](Server& server) {
    server.handles().remove(info->fh);
    server.passthrough().release(req, inode);
    fuse_reply_err(req, 0);
  });
}

// Closing a copy of a file that changed meanwhile must fail, even if each read came out well. The
// same if it was found to be damaged where the kernel had pages of it already.
void op_flush(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  answer(req, inode, [&](Server& server) {
    server.tree().check(inode);
    const HandlePtr handle = server.handles().find(info->fh);
    const auto member = server.tree().member_id(inode);
    if (handle != nullptr && server.damaged_members().found_since(member, handle->opened_at)) {
      fuse_reply_err(req, EIO);  // reported when it was found
      return;
    }
    fuse_reply_err(req, 0);
  });
}

// Gathers the bytes and replies with them.
void send(fuse_req_t req, Server& server, const Handle& handle, std::uint64_t offset,
          std::uint64_t length) {
  const Inode inode = handle.inode;
  reply(req, inode, [&](Server&) {
    const CancelScope scope([req, &server] { return server.cancelled(req); });
    Gather out(length);
    server.tree().check(inode);
    handle.source->gather(offset, length, out);
    server.statistics().reads.fetch_add(1, std::memory_order_relaxed);
    server.statistics().bytes.fetch_add(length, std::memory_order_relaxed);
    const auto spans = out.spans();
    log_reply(fuse_reply_iov(req, spans.data(), static_cast<int>(spans.size())), inode);
    try {
      server.tree().check(inode);  // what the kernel copied may have changed as it did
    } catch (const Error& e) {
      server.failed(inode, e.what(), e.errno_value());
    }
  });
}

void op_read(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t offset,
             fuse_file_info* info) {
  answer(req, inode, [&](Server& server) {
    const HandlePtr handle = server.handles().find(info->fh);
    if (handle == nullptr) {
      throw_error(EBADF, "no such open file");
    }
    const auto begin = static_cast<std::uint64_t>(offset);
    const std::uint64_t total = handle->source->size();
    const std::uint64_t length = begin < total ? std::min<std::uint64_t>(size, total - begin) : 0;
    if (handle->source->at_hand(begin, length)) {
      send(req, server, *handle, begin, length);
      return;
    }
    server.statistics().queued_reads.fetch_add(1, std::memory_order_relaxed);
    server.statistics().waiting_reads.fetch_add(1, std::memory_order_relaxed);
    server.long_reads().add({(inode - Tree::kFirst) / Tree::kPerItem,
                             [req, &server] { return server.cancelled(req); },
                             [=, &server] {
                               send(req, server, *handle, begin, length);
                               server.statistics().waiting_reads.fetch_sub(1);
                             },
                             [req, &server] {
                               fuse_reply_err(req, EINTR);
                               server.statistics().waiting_reads.fetch_sub(1);
                             }});
  });
}

// What a listing tells the kernel of an entry, its node unless the listing is too long for that.
Listing::Entry listed(const Server& server, const Tree::Entry& entry) {
  Listing::Entry told;
  told.name = entry.name;
  told.next = entry.next;
  if (entry.next > kNodesPerListing || entry.name == "." || entry.name == "..") {
    told.param.attr.st_ino = entry.inode;
    told.param.attr.st_mode = entry.is_directory ? S_IFDIR : S_IFREG;
  } else {
    told.param = entry_of(server, server.tree().attributes(entry.inode));
  }
  return told;
}

void op_opendir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  answer(req, inode, [&](Server& server) {
    if (!server.tree().attributes(inode).is_directory) {
      throw_error(ENOTDIR, "not a directory");
    }
    const auto make = [&server, inode](std::uint64_t offset, const Listing::Take& take) {
      server.tree().list(inode, offset,
                         [&](const Tree::Entry& entry) { return take(listed(server, entry)); });
    };
    info->cache_readdir = 1;
    info->keep_cache = 1;
    info->fh = server.listings().add(std::make_shared<Listing>(make));
    if (fuse_reply_open(req, info) != 0) {  // interrupted: there will be no release
      server.listings().remove(info->fh);
    }
  });
}

void op_releasedir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  answer(req, inode, [&](Server& server) {
    server.listings().remove(info->fh);
    fuse_reply_err(req, 0);
  });
}

// The entries that fit into `size` bytes; `add` writes one and returns how much room it takes.
template <typename Add>
void reply_listing(fuse_req_t req, Inode inode, std::size_t size, off_t offset,
                   const fuse_file_info* info, Add&& add) {
  answer(req, inode, [&](Server& server) {
    const auto listing = server.listings().find(info->fh);
    if (listing == nullptr) {
      throw_error(EBADF, "no such open directory");
    }
    std::vector<char> buffer(size);
    std::size_t used = 0;
    listing->page(
        static_cast<std::uint64_t>(offset),
        [&](const Listing::Entry& entry) {
          const std::size_t room = size - used;
          const std::size_t need = add(buffer.data() + used, room, entry);
          used += need > room ? 0 : need;
          return need <= room;
        },
        [&] { log_reply(fuse_reply_buf(req, buffer.data(), used), inode); });
  });
}

void op_readdir(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t offset,
                fuse_file_info* info) {
  reply_listing(req, inode, size, offset, info,
                [req](char* to, std::size_t room, const Listing::Entry& entry) {
                  return fuse_add_direntry(req, to, room, entry.name.c_str(), &entry.param.attr,
                                           static_cast<off_t>(entry.next));
                });
}

void op_readdirplus(fuse_req_t req, fuse_ino_t inode, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  reply_listing(req, inode, size, offset, info,
                [req](char* to, std::size_t room, const Listing::Entry& entry) {
                  return fuse_add_direntry_plus(req, to, room, entry.name.c_str(), &entry.param,
                                                static_cast<off_t>(entry.next));
                });
}

void op_statfs(fuse_req_t req, fuse_ino_t inode) {
  answer(req, inode, [&](Server& server) { fuse_reply_statfs(req, &server.volume()); });
}

// There are none. ENOSYS tells the kernel not to ask again; another answer costs a request a file.
void op_getxattr(fuse_req_t req, fuse_ino_t, const char*, std::size_t) {
  fuse_reply_err(req, ENOSYS);
}

void op_listxattr(fuse_req_t req, fuse_ino_t, std::size_t) { fuse_reply_err(req, ENOSYS); }

}  // namespace

const fuse_lowlevel_ops& operations() {
  static const fuse_lowlevel_ops table = [] {
    fuse_lowlevel_ops ops = {};
    ops.init = op_init;
    ops.lookup = op_lookup;
    ops.getattr = op_getattr;
    ops.open = op_open;
    ops.read = op_read;
    ops.flush = op_flush;
    ops.release = op_release;
    ops.opendir = op_opendir;
    ops.readdir = op_readdir;
    ops.readdirplus = op_readdirplus;
    ops.releasedir = op_releasedir;
    ops.statfs = op_statfs;
    ops.getxattr = op_getxattr;
    ops.listxattr = op_listxattr;
    return ops;
  }();
  return table;
}

}  // namespace npyfs
