// What lies in a directory on disk, without following it into itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "npyfs/base/fd.h"
#include "npyfs/source/file.h"
#include "npyfs/tree/catalog.h"

namespace npyfs {

// One directory: its regular files and subdirectories by name, symbolic links followed.
struct DiskDirectory {
  std::string path;  // relative to the source, "" or with '/' at its end
  FileIdentity identity;
  std::shared_ptr<const DiskDirectory> above;
  std::map<std::string, FileIdentity> files;
  std::map<std::string, FileIdentity> directories;

  std::string path_of(std::string_view name) const { return path + std::string(name); }
};

class DirectoryWalk {
 public:
  // `confine_links`: links that lead out of `root` become problems.
  DirectoryWalk(std::shared_ptr<const Fd> root, bool confine_links);

  // Reads the directory at `path` below the root. What can't be shown (loops, dangling links,
  // FIFOs, devices) is added to `problems`. Throws Error if it can't be read itself.
  std::shared_ptr<const DiskDirectory> read(const std::string& path, const FileIdentity& identity,
                                            std::shared_ptr<const DiskDirectory> above,
                                            std::vector<Problem>& problems) const;

  // Whether `path` leads to something inside the root, if that matters.
  bool allowed(const std::string& path) const;

  const std::shared_ptr<const Fd>& root() const { return root_; }

 private:
  void take(DiskDirectory& directory, const std::string& name,
            std::vector<Problem>& problems) const;

  std::shared_ptr<const Fd> root_;
  bool confine_links_;
  std::string real_root_;
};

}  // namespace npyfs
