#include "tree/directory_walk.h"

#include <climits>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using DirHandle = std::unique_ptr<DIR, DirCloser>;

DirHandle open_directory(int root, const std::string& path) {
  const std::string& name = path.empty() ? "." : path;
  Fd fd(::openat(root, path.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    throw_system(errno, name);
  }
  // fdopendir takes the descriptor over, so it gets one of its own.
  const int own = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  DirHandle dir(own < 0 ? nullptr : ::fdopendir(own));
  if (dir == nullptr) {
    throw_system(errno, name);
  }
  return dir;
}

// The file that a descriptor is open on, as an absolute path.
std::string real_path(int fd) {
  std::string path(PATH_MAX, '\0');
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  path.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
  return path;
}

std::string kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "no file or directory";
  }
}

bool is_above(const DiskDirectory* directory, const FileIdentity& identity) {
  for (; directory != nullptr; directory = directory->above.get()) {
    if (directory->identity.device == identity.device &&
        directory->identity.inode == identity.inode) {
      return true;
    }
  }
  return false;
}

}  // namespace

DirectoryWalk::DirectoryWalk(std::shared_ptr<const Fd> root, bool confine_links)
    : root_(std::move(root)), confine_links_(confine_links), real_root_(real_path(root_->get())) {}

std::shared_ptr<const DiskDirectory> DirectoryWalk::read(const std::string& path,
                                                         const FileIdentity& identity,
                                                         std::shared_ptr<const DiskDirectory> above,
                                                         std::vector<Problem>& problems) const {
  auto directory = std::make_shared<DiskDirectory>();
  directory->path = path;
  directory->identity = identity;
  directory->above = std::move(above);
  const DirHandle dir = open_directory(root_->get(), path);
  errno = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this handle is used by one thread
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      take(*directory, name, problems);
    }
    errno = 0;
  }
  if (errno != 0) {
    throw_system(errno, path);
  }
  return directory;
}

void DirectoryWalk::take(DiskDirectory& directory, const std::string& name,
                         std::vector<Problem>& problems) const {
  const std::string path = directory.path_of(name);
  const auto problem = [&](int errno_value, std::string what) {
    problems.push_back({path, std::move(what), errno_value});
  };
  struct stat link = {};
  if (::fstatat(root_->get(), path.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0) {
    return;  // gone since it was listed
  }
  struct stat status = {};
  if (::fstatat(root_->get(), path.c_str(), &status, 0) != 0) {
    problem(errno, errno == ENOENT
                       ? path + ": a symbolic link that leads nowhere; put back what it led to"
                       : path + ": " + errno_name(errno));
    return;
  }
  const FileIdentity identity = identity_of(status);
  if (S_ISLNK(link.st_mode) && !allowed(path)) {
    problem(EACCES, path + ": a symbolic link that leads out of the source; -o follow shows it");
  } else if (S_ISREG(status.st_mode)) {
    directory.files.emplace(name, identity);
  } else if (!S_ISDIR(status.st_mode)) {
    problem(EINVAL, path + ": " + kind_of(status.st_mode) + ", which can't be shown");
  } else if (is_above(&directory, identity)) {
    problem(ELOOP, path + ": a directory inside itself, not entered again");
  } else {
    directory.directories.emplace(name, identity);
  }
}

bool DirectoryWalk::allowed(const std::string& path) const {
  if (!confine_links_) {
    return true;
  }
  const Fd fd(::openat(root_->get(), path.c_str(), O_PATH | O_CLOEXEC));
  const std::string real = fd.valid() ? real_path(fd.get()) : "";
  // Without /proc nothing can be told, and nothing is allowed.
  return !real.empty() && !real_root_.empty() &&
         (real == real_root_ || real.starts_with(real_root_ == "/" ? "/" : real_root_ + "/"));
}

}  // namespace npyfs
