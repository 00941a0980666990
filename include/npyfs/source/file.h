// Files on disk as Sources, watched for change.
//
// A file is what it was when npyfs first saw it: device, inode, size and mtime. If size or mtime
// differ later, the file was written to under us and is stale for good: every read fails with
// ESTALE, so that a copy in progress fails and never ends well with a mix. (ctime alone says
// nothing: mv, ln and chmod change it.) A file replaced by another under the same name goes on
// being served as long as it is held open.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include <sys/stat.h>

#include "npyfs/base/fd.h"
#include "npyfs/source/source.h"

namespace npyfs {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

FileIdentity identity_of(const struct stat& status);

class File;

// A descriptor and a mapping of the whole file, both made when first wanted.
class OpenFile {
 public:
  OpenFile(Fd fd, std::uint64_t size);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  int fd() const { return fd_.get(); }

  // The mapping, or empty where it can't or shouldn't be had (a network filesystem, whose pages may
  // hang or vanish). Our own code must not touch its bytes: a page that is gone would be SIGBUS.
  // Only the kernel may, for which it is EFAULT.
  Bytes mapping() const;

 private:
  Fd fd_;
  std::uint64_t size_;
  mutable std::once_flag mapped_;
  mutable void* address_ = nullptr;
};

// Keeps the files of a directory open that were used last, so that ten thousand shards don't need
// ten thousand descriptors. Thread-safe.
class FilePool {
 public:
  // At most `most_open` files stay open; those in use by a reply are on top of that.
  explicit FilePool(std::size_t most_open) : most_open_(most_open) {}

  void used(const File* file, std::shared_ptr<const OpenFile> open);

  // Closes what no reply is using.
  void close_all();

 private:
  const std::size_t most_open_;
  std::mutex mutex_;                                                           // guards the rest
  std::list<std::pair<const File*, std::shared_ptr<const OpenFile>>> recent_;  // last used first
};

class File final : public Source {
 public:
  // Opens `path` and holds it open. Throws Error with the errno of open(2); EISDIR or EINVAL for
  // what isn't a regular file.
  static std::shared_ptr<const File> open(const std::string& path);

  // A regular file at `path` below the directory `root`, opened when it is read and compared with
  // `expected`, which came from its stat. `root` is shared by all files of a mount.
  static std::shared_ptr<const File> below(std::shared_ptr<const Fd> root, std::string path,
                                           const FileIdentity& expected,
                                           std::shared_ptr<FilePool> pool);

  std::uint64_t size() const override { return identity_.size; }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override;

  // Lends the mapping. The kernel copies from it after we have looked, so whoever replies with it
  // calls check() before and again after.
  void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const override;

  // Throws Error (ESTALE) if the file was written to, or is another one.
  void check() const;

  const FileIdentity& identity() const { return identity_; }
  const std::string& path() const { return path_; }

  // Open now, for passthrough and the like. Throws Error like read.
  std::shared_ptr<const OpenFile> acquire() const;

 private:
  File(std::shared_ptr<const Fd> root, std::string path, const FileIdentity& identity,
       std::shared_ptr<FilePool> pool, std::shared_ptr<const OpenFile> held);
  void check(const OpenFile& open) const;
  [[noreturn]] void fail_stale(const std::string& why) const;

  const std::shared_ptr<const Fd> root_;  // null: held open by `held_`
  const std::string path_;
  const FileIdentity identity_;
  const std::shared_ptr<FilePool> pool_;
  const std::shared_ptr<const OpenFile> held_;
  mutable std::atomic<bool> stale_ = false;
  mutable std::mutex mutex_;                    // guards last_
  mutable std::weak_ptr<const OpenFile> last_;  // what acquire returned before, if still open
};

// How many reads of files (pread) npyfs made, for stats.json.
std::uint64_t file_reads();

}  // namespace npyfs
