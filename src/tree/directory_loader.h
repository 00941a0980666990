// A directory as source: shards under the keys of their index, loose arrays, archives as
// directories, and everything else as it is.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/format/shard_index.h"

#include "tree/directory_walk.h"
#include "tree/disk_files.h"
#include "tree/disk_store.h"
#include "tree/loader.h"

namespace npyfs {

class DirectoryLoader {
 public:
  // `absolute_path`: of the source, to recognise absolute paths in an index.
  DirectoryLoader(Loader& loader, std::shared_ptr<const Fd> root, std::string absolute_path);

  void load(const FileIdentity& root_identity);

  // Closes what loading opened: what a reader gets is what is there when it reads.
  void close_files() { files_.close_all(); }

 private:
  struct Work {
    std::string path;
    FileIdentity identity;
    ItemId item = kRootItem;
    std::shared_ptr<const DiskDirectory> above;
  };
  using Names = std::set<std::string, std::less<>>;

  void load_directory(const DiskDirectory& directory, ItemId item);
  void add_subdirectories(const DiskDirectory& directory, ItemId item, std::vector<Work>& next,
                          const std::shared_ptr<const DiskDirectory>& self);
  void load_index(const DiskDirectory& directory, ItemId item);
  bool load_entry(const DiskDirectory& directory, ItemId item, const ShardEntry& entry);
  bool load_entry_from(const std::string& path, ItemId item, const DiskDirectory& directory,
                       const ShardEntry& entry);
  Names find_copies(const DiskDirectory& directory) const;
  void load_file(const DiskDirectory& directory, ItemId item, const std::string& name);
  void load_array(const DiskDirectory& directory, ItemId item, const std::string& name,
                  Names& done);
  bool load_archive(const std::string& path, const std::string& name, const FileIdentity& identity,
                    ItemId item);
  bool is_own_view(const std::string& path, std::string_view name, ItemId item) const;
  void complain(const std::string& path, const Error& error);
  ItemId add_plain(const std::string& path, std::string_view name, const FileIdentity& identity,
                   ItemId item, bool hidden);

  Loader& loader_;
  DirectoryWalk walk_;
  std::string absolute_path_;
  DiskFiles files_;
  DiskStore* disk_;  // the builder owns it
  std::uint32_t disk_store_;
  std::set<std::string> shards_;      // paths of files that an index put somewhere
  std::set<std::string> complained_;  // paths with a problem
};

}  // namespace npyfs
