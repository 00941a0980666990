// The mount as the kernel asks for it: inode numbers, names in directories, attributes, contents.
//
// Nodes are computed, not stored: an inode number is 16 + 16 * item + view, so a million arrays
// with their files cost no more than the catalog. Nothing is ever forgotten, and nothing but
// errors.json and stats.json changes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "npyfs/tree/catalog.h"
#include "npyfs/tree/meta.h"
#include "npyfs/tree/views.h"

namespace npyfs {

using Inode = std::uint64_t;

// Which views a listing shows.
using ViewSet = std::array<bool, kViews>;
inline constexpr ViewSet kUsualViews = {true, true, true, true, false, false};

// Things that went wrong while the mount was served. Thread-safe, bounded.
class Faults {
 public:
  static constexpr std::size_t kMost = 10'000;

  // `known`: what is in errors.json from the start.
  explicit Faults(const std::vector<Problem>& known);

  // False if there is one of this errno at this place already, or there are too many.
  bool add(Problem problem);
  std::vector<Problem> all() const;

 private:
  mutable std::mutex mutex_;  // guards the rest
  std::set<std::pair<std::string, int>> known_;
  std::vector<Problem> problems_;
};

class Tree {
 public:
  static constexpr Inode kRoot = 1;
  // An item's number is kFirst + kPerItem * item + view; below are the root and the control files.
  static constexpr Inode kFirst = 16;
  static constexpr Inode kPerItem = 16;

  struct Attributes {
    Inode inode = 0;
    bool is_directory = false;
    bool is_volatile = false;  // a snapshot: made when opened, never cached
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
  };

  struct Entry {
    std::string_view name;
    Inode inode = 0;
    bool is_directory = false;
    std::uint64_t next = 0;  // where a listing goes on after this entry
  };

  // `statistics` gives the text of stats.json.
  Tree(Catalog catalog, std::shared_ptr<Decoder> decoder, const ViewSet& listed,
       std::function<std::string()> statistics);
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const Catalog& catalog() const { return catalog_; }
  const Views& views() const { return views_; }
  Faults& faults() const { return faults_; }

  // nullopt if there is no such name. Reads nothing from the source.
  std::optional<Inode> lookup(Inode directory, std::string_view name) const;

  // Throws Error (ENOENT) if the number is none of ours; (ENOTDIR) where a directory is wanted.
  Attributes attributes(Inode inode) const;

  // Calls take(entry) for the entries of a directory from `offset` on, which is 0 or an entry's
  // `next`, until it returns false: that entry is then the first of the next call.
  void list(Inode directory, std::uint64_t offset,
            const std::function<bool(const Entry&)>& take) const;

  // The content of a file. Throws Error: EISDIR, or why it can't be had.
  SourcePtr open(Inode inode) const;

  // Throws Error (ESTALE) if the file that the bytes come from was changed since the mount began.
  void check(Inode inode) const;

  // Catalog::member_id of what the file shows.
  std::optional<std::uint64_t> member_id(Inode inode) const;

  // Where the bytes come from, as errors.json names it: "archive: member", or the path in the
  // mount.
  std::string place(Inode inode) const;

  // Path in the mount, for messages.
  std::string path(Inode inode) const;

 private:
  enum Control : Inode { kControl = 2, kManifest, kErrors, kStats };

  static Inode inode_of(ItemId item, View view = View::kNpy);
  ItemId item_of(Inode inode) const;
  bool has_view(ItemId item, View view) const;
  ItemId directory_of(Inode inode) const;
  static View view_of(Inode inode) { return static_cast<View>((inode - kFirst) % kPerItem); }
  Attributes control_attributes(Inode inode) const;
  SourcePtr manifest_source() const;
  std::optional<Inode> lookup_array(ItemId directory, std::string_view name) const;
  bool list_item(ItemId item, std::uint64_t child, std::uint64_t first_view,
                 const std::function<bool(const Entry&)>& take) const;
  void list_control(std::uint64_t offset, const std::function<bool(const Entry&)>& take) const;

  Catalog catalog_;
  Views views_;
  ViewSet listed_;
  std::function<std::string()> statistics_;
  mutable Faults faults_;
  mutable std::once_flag manifest_once_;
  mutable SourcePtr manifest_;
};

}  // namespace npyfs
