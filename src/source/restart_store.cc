// No fsync: a file that a crash cuts short is found out by its checksums, and costs one pass.
#include "npyfs/source/restart_store.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"

#include "source/kept_points.h"

namespace npyfs {
namespace {

constexpr std::size_t kHashDigits = 32;
constexpr std::string_view kEnding = ".points";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::int64_t kAbandonedSeconds = 3600;  // a temporary file whose daemon was killed

std::string name_of(const std::string& key) {
  return sha256_hex(key, kHashDigits) + std::string(kEnding);
}

// Whether this class gave that name: nothing else in the directory is ours to remove.
bool is_our_name(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789abcdef");
  if (digits != kHashDigits || name.substr(digits, kEnding.size()) != kEnding) {
    return false;
  }
  return name.size() == digits + kEnding.size() || name.ends_with(kTemporary);
}

void make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != path.npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);  // whether it is there now, opening it tells
}

Fd open_directory(const std::string& path) {
  make_directories(path);
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    throw_system(errno, path);
  }
  return directory;
}

bool is_ours_alone(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

struct StoredFile {
  std::string name;
  std::int64_t used_at = 0;  // seconds
  std::uint64_t bytes = 0;
};

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Our files, the longest unused first.
std::vector<StoredFile> list_files(int directory) {
  std::vector<StoredFile> files;
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, DirectoryCloser> entries(own < 0 ? nullptr : ::fdopendir(own));
  if (entries == nullptr) {
    return files;  // with no descriptor left there was none to leak
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this DIR
  while (const dirent* entry = ::readdir(entries.get())) {
    struct stat status = {};
    if (is_our_name(entry->d_name) &&
        ::fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_ours_alone(status)) {
      files.push_back(
          {entry->d_name, status.st_mtim.tv_sec, static_cast<std::uint64_t>(status.st_size)});
    }
  }
  std::ranges::sort(files, {}, &StoredFile::used_at);
  return files;
}

// A file that only gets its name once all of it is written.
class NewFile {
 public:
  NewFile(int directory, const std::string& name) : directory_(directory), name_(name) {
    std::random_device random;
    temporary_ = text_of(name_, '.', std::hex, random(), random(), kTemporary);
    file_ = Fd(::openat(directory_, temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                        S_IRUSR | S_IWUSR));
    if (!file_.valid()) {
      throw_system(errno, temporary_);
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (file_.valid()) {
      ::unlinkat(directory_, temporary_.c_str(), 0);
    }
  }

  void write(Bytes bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        throw_system(errno, temporary_);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
  }

  void commit() {
    if (::renameat(directory_, temporary_.c_str(), directory_, name_.c_str()) != 0) {
      throw_system(errno, name_);
    }
    file_ = Fd();
  }

 private:
  const int directory_;
  const std::string name_;
  std::string temporary_;
  Fd file_;
};

// While it lives no other adds to the directory, of this process or another: of two who read the
// same file and then replace it, one would lose what the other adds. There is no lock on a
// directory that others may open, since anybody of them could keep it for ever.
class DirectoryLock {
 public:
  explicit DirectoryLock(int directory)
      : own_(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    struct stat status = {};
    if (::fstat(own_.get(), &status) != 0 || status.st_uid != ::geteuid() ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      return;
    }
    while (::flock(own_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  const Fd own_;  // the lock ends with it
};

// The points of a file to be, some of which come from the file that it replaces.
struct Merged {
  std::vector<KeptPoints::Entry> entries;
  std::vector<RestartPointPtr> fresh;  // null for a point that is kept already
  std::size_t added = 0;
  std::uint64_t bytes = 0;
};

Merged merge(const KeptPoints& kept, std::vector<RestartPointPtr> points) {
  std::ranges::sort(points, {}, &RestartPoint::position);
  Merged merged;
  const auto add = [&](const KeptPoints::Entry& entry, RestartPointPtr point) {
    if (merged.entries.size() < KeptPoints::kMostPoints) {
      merged.added += point == nullptr ? 0 : 1;
      merged.bytes += entry.length;
      merged.entries.push_back(entry);
      merged.fresh.push_back(std::move(point));
    }
  };
  auto known = kept.entries().begin();
  for (RestartPointPtr& point : points) {
    for (; known != kept.entries().end() && known->position < point->position; ++known) {
      add(*known, nullptr);
    }
    const bool is_known = known != kept.entries().end() && known->position == point->position;
    if (!is_known && point->state.size() <= KeptPoints::kMostState) {
      const KeptPoints::Entry entry{point->position, 0,
                                    static_cast<std::uint32_t>(point->state.size()),
                                    checksum_of_state(point->state)};
      add(entry, std::move(point));
    }
  }
  for (; known != kept.entries().end(); ++known) {
    add(*known, nullptr);
  }
  return merged;
}

}  // namespace

RestartStore::RestartStore(const std::string& directory, OnProblem report, std::uint64_t most_bytes)
    : path_(directory),
      directory_(open_directory(directory)),
      most_bytes_(most_bytes),
      on_problem_(std::move(report)) {
  if (::faccessat(directory_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    why_read_only_ = ::strerrordesc_np(errno);
  }
}

KeptPoints RestartStore::find(const std::string& key, std::uint64_t size) const {
  const std::string name = name_of(key);
  Fd file = open_file(name);
  if (!file.valid()) {
    return {};
  }
  ::futimens(file.get(), nullptr);  // what is used stays; that it can't be said is no matter
  try {
    return KeptPoints::read(std::move(file), key, size);
  } catch (const Error& e) {
    report(Problem::kDamaged,
           path_ + "/" + name + ": passed over, and others that are damaged: " + e.what());
    return {};
  }
}

// The file, or an invalid Fd unless it is there and ours alone.
Fd RestartStore::open_file(const std::string& name) const {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd file(::openat(directory_.get(), name.c_str(), kFlags));
  if (!file.valid() && errno != ELOOP && errno != EACCES) {
    return file;
  }
  struct stat status = {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0 || !is_ours_alone(status)) {
    report(Problem::kForeign, path_ + "/" + name +
                                  ": passed over, and others like it: not a file that only you "
                                  "can write");
    return Fd();
  }
  return file;
}

std::size_t RestartStore::save(const std::string& key, std::uint64_t size,
                               std::vector<RestartPointPtr> points) const {
  if (!why_read_only_.empty() || key.size() > KeptPoints::kMostKey) {
    return 0;
  }
  const DirectoryLock lock(directory_.get());
  const KeptPoints kept = find(key, size);
  const Merged merged = merge(kept, std::move(points));
  if (merged.added == 0) {
    return 0;
  }
  try {
    const auto front = front_of_points(key, merged.entries);
    if (!make_room(front.size() + merged.bytes)) {
      return 0;
    }
    NewFile file(directory_.get(), name_of(key));
    file.write(front);
    for (std::size_t i = 0; i < merged.entries.size(); ++i) {
      const RestartPointPtr point =
          merged.fresh[i] != nullptr ? merged.fresh[i] : kept.load(merged.entries[i].position);
      if (point == nullptr) {
        forget(key);  // the next save has nothing to do with it
        return 0;
      }
      file.write(point->state);
    }
    file.commit();
  } catch (const Error& e) {
    report(Problem::kUnwritten, path_ + ": restart points aren't kept there: " + e.what());
    return 0;
  }
  return merged.added;
}

void RestartStore::forget(const std::string& key) const {
  const std::string name = name_of(key);
  report(Problem::kDamaged, path_ + "/" + name + ": removed, and others that can't be right");
  ::unlinkat(directory_.get(), name.c_str(), 0);
}

// False if `bytes` are more than all files together may have.
bool RestartStore::make_room(std::uint64_t bytes) const {
  if (bytes > most_bytes_) {
    return false;
  }
  const auto files = list_files(directory_.get());
  std::uint64_t total = bytes;
  for (const StoredFile& file : files) {
    total += file.bytes;
  }
  const std::int64_t now = ::time(nullptr);
  for (const StoredFile& file : files) {
    const bool is_abandoned =
        file.name.ends_with(kTemporary) && now - file.used_at > kAbandonedSeconds;
    if (total > most_bytes_ || is_abandoned) {
      ::unlinkat(directory_.get(), file.name.c_str(), 0);
      total -= file.bytes;
    }
  }
  return true;
}

void RestartStore::report(Problem problem, const std::string& text) const {
  if (!reported_[static_cast<std::size_t>(problem)].test_and_set() && on_problem_) {
    on_problem_(text);
  }
}

}  // namespace npyfs
