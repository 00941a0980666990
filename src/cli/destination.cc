#include "cli/destination.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "npyfs/base/error.h"

#include "cli/text.h"

namespace npyfs {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kMostTries = 100;  // for a temporary name

// Where it pays to ask for the room beforehand.
constexpr std::uint64_t kLargeFile = std::uint64_t{1} << 20;

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string way_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

Fd duplicate(int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

std::string random_name() {
  static std::random_device random;
  return ".npyfs-" + std::to_string(random()) + ".tmp";
}

}  // namespace

Destination::Destination(std::string path) : path_(std::move(path)) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) {
    throw_system(error.value(), path_);
  }
  root_ = Fd(::open(path_.c_str(), kOpenDirectory));
  if (!root_.valid()) {
    throw_system(errno, path_);
  }
  while (path_.size() > 1 && path_.ends_with('/')) {
    path_.pop_back();
  }
}

// The directory that holds `path`, made if need be. The descriptor stays ours.
int Destination::directory_of(const std::string& path) {
  const std::string way = way_of(path);
  if (way.empty()) {
    return root_.get();
  }
  if (last_.valid() && way == last_way_) {
    return last_.get();
  }
  Fd at = duplicate(root_.get());
  std::string_view rest = way;
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const std::size_t done = way.size() - rest.size() - (rest.empty() ? 0 : 1);
    const std::string so_far = path_ + "/" + way.substr(0, done);
    if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      throw_system(errno, so_far);
    }
    Fd next(::openat(at.get(), name.c_str(), kOpenDirectory | O_NOFOLLOW));
    if (!next.valid()) {
      const int reason = errno;
      struct stat status = {};
      if (::fstatat(at.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISLNK(status.st_mode)) {
        throw_error(ELOOP, so_far + ": a symbolic link, which could lead out of " + path_ +
                               "; remove it, or extract elsewhere");
      }
      throw_system(reason, so_far);
    }
    at = std::move(next);
  }
  last_ = std::move(at);
  last_way_ = way;
  return last_.get();
}

std::optional<std::uint64_t> Destination::existing_size(const std::string& path) {
  struct stat status = {};
  const std::string name(name_of(path));
  const bool is_file =
      ::fstatat(directory_of(path), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(status.st_mode);
  return is_file ? std::optional(static_cast<std::uint64_t>(status.st_size)) : std::nullopt;
}

Destination::NewFile Destination::create(const std::string& path, std::uint64_t size) {
  Fd directory = duplicate(directory_of(path));
  if (!directory.valid()) {
    throw_system(errno, path_ + "/" + path);
  }
  NewFile file(std::move(directory), std::string(name_of(path)), path_ + "/" + path);
  file.reserve(size);
  return file;
}

Destination::NewFile::NewFile(Fd directory, std::string name, std::string shown_as)
    : directory_(std::move(directory)), name_(std::move(name)), shown_as_(std::move(shown_as)) {
  for (int i = 0; i < kMostTries && !file_.valid(); ++i) {
    temporary_name_ = random_name();
    file_ = Fd(::openat(directory_.get(), temporary_name_.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file_.valid() && errno != EEXIST) {
      break;
    }
  }
  if (!file_.valid()) {
    const int reason = errno;
    temporary_name_.clear();
    fail(reason);
  }
}

Destination::NewFile::NewFile(NewFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      name_(std::move(other.name_)),
      shown_as_(std::move(other.shown_as_)),
      temporary_name_(std::exchange(other.temporary_name_, {})),
      file_(std::move(other.file_)) {}

Destination::NewFile::~NewFile() {
  if (!temporary_name_.empty()) {
    ::unlinkat(directory_.get(), temporary_name_.c_str(), 0);
  }
}

void Destination::NewFile::fail(int errno_value) const { throw_system(errno_value, shown_as_); }

// Some filesystems can't; then the disk is found full when it is.
void Destination::NewFile::reserve(std::uint64_t size) {
  if (size < kLargeFile || ::fallocate(file_.get(), 0, 0, static_cast<off_t>(size)) == 0 ||
      (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)) {
    return;
  }
  const int reason = errno;
  struct statvfs space = {};
  if (reason == ENOSPC && ::fstatvfs(file_.get(), &space) == 0) {
    const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
    throw_error(reason, text_of(shown_as_, ": no space left: it needs ", human_size(size), ", and ",
                                human_size(free), " are free"));
  }
  fail(reason);
}

void Destination::NewFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail(errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// Network filesystems and quotas report at close what write let pass.
void Destination::NewFile::commit() {
  const int own = ::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0);
  if (own < 0 || ::close(own) != 0) {
    fail(errno);
  }
  if (::renameat(directory_.get(), temporary_name_.c_str(), directory_.get(), name_.c_str()) != 0) {
    fail(errno);
  }
  temporary_name_.clear();
}

}  // namespace npyfs
