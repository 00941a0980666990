// The directory that a mount covers: checked before anything is done, made if it isn't there, and
// removed again if it was made here.
#pragma once

#include <string>

namespace npyfs {

class MountPoint {
 public:
  // Checks that `path` can be mounted on: that it is an empty directory (with `nonempty` any), or
  // that its parent is there to make it in; that it isn't an npyfs mount already; and that it
  // neither lies in the directory `source` nor above it. Throws Error, with the way out.
  MountPoint(const std::string& path, const std::string& source, bool nonempty);

  // Absolute, without symbolic links.
  const std::string& path() const { return path_; }

  // Makes the directory if it isn't there. While the result lives it stays; then it is removed, if
  // it was made here and nothing is mounted on it. Throws Error.
  class Held {
   public:
    explicit Held(const MountPoint& mount_point);
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held();

   private:
    std::string made_;  // "" if it was there
  };

 private:
  void check_free(const std::string& shown_as, bool nonempty) const;
  void check_directory(const std::string& shown_as, bool nonempty);
  void check_apart(const std::string& shown_as, const std::string& source) const;

  std::string path_;
  bool exists_ = false;
};

}  // namespace npyfs
