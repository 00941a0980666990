// A reply lends the file's mapping and the kernel copies from it: no copy of ours. Splicing the
// descriptor measured slower, and a truncated file then ends early with no error. The price is that
// bytes can change between our look and the kernel's copy, so a file is checked before the reply
// and again after it.
#include "npyfs/source/file.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

std::atomic<std::uint64_t> read_count = 0;

struct stat status_of(int fd, const std::string& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) {
    throw_system(errno, path);
  }
  return status;
}

bool is_remote(int fd) {
  // Numbers that <linux/magic.h> lacks, from statfs(2).
  constexpr std::array<unsigned, 8> kRemote = {
      NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, 0xFF534D42 /* CIFS */, 0xFE534D42 /* SMB2 */,
      FUSE_SUPER_MAGIC, V9FS_MAGIC,      CEPH_SUPER_MAGIC,      0x0BD00BD0 /* Lustre */};
  struct statfs filesystem = {};
  return ::fstatfs(fd, &filesystem) != 0 ||
         std::ranges::find(kRemote, static_cast<unsigned>(filesystem.f_type)) != kRemote.end();
}

}  // namespace

std::uint64_t file_reads() { return read_count.load(std::memory_order_relaxed); }

FileIdentity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * std::int64_t{1'000'000'000} + status.st_mtim.tv_nsec};
}

OpenFile::OpenFile(Fd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}

OpenFile::~OpenFile() {
  if (address_ != nullptr) {
    ::munmap(address_, size_);
  }
}

Bytes OpenFile::mapping() const {
  std::call_once(mapped_, [this] {
    if (size_ == 0 || is_remote(fd_.get())) {
      return;
    }
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_.get(), 0);
    address_ = address == MAP_FAILED ? nullptr : address;
  });
  return {static_cast<const std::byte*>(address_), address_ == nullptr ? 0 : size_};
}

void FilePool::used(const File* file, std::shared_ptr<const OpenFile> open) {
  std::shared_ptr<const OpenFile> dropped;  // closed after the mutex is free
  const std::lock_guard lock(mutex_);
  const auto known =
      std::ranges::find_if(recent_, [&](const auto& entry) { return entry.first == file; });
  if (known != recent_.end()) {
    known->second = std::move(open);
    recent_.splice(recent_.begin(), recent_, known);
    return;
  }
  recent_.emplace_front(file, std::move(open));
  if (recent_.size() > most_open_) {
    dropped = std::move(recent_.back().second);
    recent_.pop_back();
  }
}

void FilePool::close_all() {
  decltype(recent_) closed;  // after the mutex is free
  const std::lock_guard lock(mutex_);
  closed.swap(recent_);
}

File::File(std::shared_ptr<const Fd> root, std::string path, const FileIdentity& identity,
           std::shared_ptr<FilePool> pool, std::shared_ptr<const OpenFile> held)
    : root_(std::move(root)),
      path_(std::move(path)),
      identity_(identity),
      pool_(std::move(pool)),
      held_(std::move(held)) {}

std::shared_ptr<const File> File::open(const std::string& path) {
  Fd fd = open_readonly(path);
  const struct stat status = status_of(fd.get(), path);
  if (!S_ISREG(status.st_mode)) {
    throw_error(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, path + ": not a regular file");
  }
  const FileIdentity identity = identity_of(status);
  auto held = std::make_shared<const OpenFile>(std::move(fd), identity.size);
  return std::shared_ptr<const File>(new File(nullptr, path, identity, nullptr, std::move(held)));
}

std::shared_ptr<const File> File::below(std::shared_ptr<const Fd> root, std::string path,
                                        const FileIdentity& expected,
                                        std::shared_ptr<FilePool> pool) {
  return std::shared_ptr<const File>(
      new File(std::move(root), std::move(path), expected, std::move(pool), nullptr));
}

std::shared_ptr<const OpenFile> File::acquire() const {
  if (held_ != nullptr) {
    return held_;
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const OpenFile> open = last_.lock();
  if (open == nullptr) {
    Fd fd;
    try {
      fd = open_readonly(path_, root_->get());
    } catch (const Error& e) {
      if (e.errno_value() == ENOENT || e.errno_value() == ENOTDIR) {
        fail_stale("removed since it was mounted");
      }
      throw;
    }
    const FileIdentity found = identity_of(status_of(fd.get(), path_));
    if (found.device != identity_.device || found.inode != identity_.inode) {
      fail_stale("another file is in its place since it was mounted");
    }
    open = std::make_shared<const OpenFile>(std::move(fd), identity_.size);
    last_ = open;
  }
  pool_->used(this, open);
  return open;
}

void File::fail_stale(const std::string& why) const {
  throw_error(ESTALE, path_ + ": " + why + "; unmount and mount it again");
}

void File::check(const OpenFile& open) const {
  if (!stale_.load(std::memory_order_relaxed)) {
    const FileIdentity now = identity_of(status_of(open.fd(), path_));
    if (now.size == identity_.size && now.mtime_ns == identity_.mtime_ns) {
      return;
    }
    stale_ = true;
  }
  fail_stale("written to since it was mounted");
}

void File::check() const { check(*acquire()); }

void File::read(std::uint64_t offset, std::span<std::byte> dst) const {
  const auto open = acquire();
  if (stale_.load(std::memory_order_relaxed)) {
    check(*open);
  }
  read_count.fetch_add(1, std::memory_order_relaxed);
  try {
    pread_exact(open->fd(), dst, offset);
  } catch (const Error& e) {
    check(*open);  // a file that was cut is stale, which says more than the short read
    throw e.prefixed(path_);
  }
  check(*open);
}

void File::gather(std::uint64_t offset, std::uint64_t length, Gather& out) const {
  const auto open = acquire();
  const Bytes mapping = out.full() ? Bytes() : open->mapping();
  if (mapping.empty()) {
    Source::gather(offset, length, out);
    return;
  }
  out.lend(mapping.subspan(offset, length), open);
}

}  // namespace npyfs
