#include "cli/mount_point.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "npyfs/base/error.h"

#include "cli/mount_table.h"

namespace npyfs {
namespace {

// True if `path` is `directory` or below it; both absolute.
bool lies_in(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" || path.starts_with(directory + "/");
}

}  // namespace

MountPoint::MountPoint(const std::string& path, const std::string& source, bool nonempty) {
  try {
    path_ = resolve(path);
  } catch (const Error& e) {
    if (e.errno_value() != ENOENT) {
      throw;
    }
    throw_error(ENOENT, path +
                            ": its parent directory doesn't exist; npyfs only makes the last "
                            "directory of a mount point");
  }
  check_apart(path, source);
  check_free(path, nonempty);
  check_directory(path, nonempty);
}

void MountPoint::check_free(const std::string& shown_as, bool nonempty) const {
  const auto mounted = mounted_at(path_);
  struct statvfs volume = {};  // of a dead mount the kernel may still have what stat shows
  if (mounted && ::statvfs(path_.c_str(), &volume) != 0 &&
      (errno == ENOTCONN || errno == ECONNABORTED)) {
    throw_error(errno, shown_as + ": a mount whose program has died; 'npyfs umount " + shown_as +
                           "' clears it away");
  }
  if (mounted && mounted->type == "fuse.npyfs" && !nonempty) {
    throw_error(EBUSY, shown_as + ": " + mounted->source +
                           " is mounted here already; 'npyfs umount " + shown_as +
                           "' first, or choose another directory");
  }
}

void MountPoint::check_apart(const std::string& shown_as, const std::string& source) const {
  const std::string real = resolve(source);
  std::error_code ignored;
  if (std::filesystem::is_directory(real, ignored) && lies_in(path_, real)) {
    throw_error(EINVAL, shown_as + ": lies in the source " + source +
                            ", which would then show itself; choose a directory outside it");
  }
  if (real != path_ && lies_in(real, path_)) {
    throw_error(EINVAL,
                shown_as + ": the source " + source +
                    " lies in it and would be hidden by the mount; choose another directory");
  }
}

void MountPoint::check_directory(const std::string& shown_as, bool nonempty) {
  struct stat status = {};
  if (::stat(path_.c_str(), &status) != 0) {
    if (errno != ENOENT) {
      throw_system(errno, shown_as);
    }
    return;
  }
  exists_ = true;
  if (!S_ISDIR(status.st_mode)) {
    throw_error(ENOTDIR, shown_as +
                             ": not a directory; choose an empty directory, or a name that "
                             "doesn't exist yet");
  }
  if (nonempty) {
    return;
  }
  std::error_code error;
  const bool empty = std::filesystem::is_empty(path_, error);
  if (error) {
    throw_system(error.value(), shown_as);
  }
  if (!empty) {
    throw_error(ENOTEMPTY, shown_as +
                               ": not empty; choose an empty directory, or hide what is in it "
                               "with -o nonempty");
  }
}

MountPoint::Held::Held(const MountPoint& mount_point) {
  if (mount_point.exists_) {
    return;
  }
  if (::mkdir(mount_point.path_.c_str(), 0777) != 0) {
    throw_system(errno, mount_point.path_);
  }
  made_ = mount_point.path_;
}

MountPoint::Held::~Held() {
  if (!made_.empty()) {
    ::rmdir(made_.c_str());
  }
}

}  // namespace npyfs
