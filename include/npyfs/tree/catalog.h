// What a mount shows: directories, plain files and arrays, each with a name in a directory.
//
// A Catalog is const before the mount and small enough for a million arrays: an item is 24 bytes,
// its name lies in one blob, what is known of an array is shared by all arrays of the same header,
// and a name is found by a hash on (directory, name). The files of an array (its views) aren't
// items.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "npyfs/format/array_info.h"
#include "npyfs/format/store.h"
#include "npyfs/tree/names.h"

namespace npyfs {

using ItemId = std::uint32_t;
constexpr ItemId kRootItem = 0;
constexpr ItemId kNoItem = ~ItemId{0};

enum class ItemKind : std::uint8_t { kDirectory, kFile, kArray };

// A thing that isn't shown, or not as it was meant: an entry of errors.json.
struct Problem {
  std::string where;  // path in the source, and the member
  std::string what;
  int errno_value = 0;
  friend bool operator==(const Problem&, const Problem&) = default;
};

class Catalog {
 public:
  Catalog(Catalog&&) = default;
  Catalog& operator=(Catalog&&) = default;

  // Items are numbered in the order of the source; the root directory is item 0.
  ItemId count() const { return static_cast<ItemId>(items_.size()); }
  ItemKind kind(ItemId item) const { return items_[item].kind; }
  ItemId parent(ItemId item) const { return items_[item].parent; }
  // File name, or for an array its stem: the name less the suffix of a view.
  std::string_view name(ItemId item) const;
  // Openable by name, but not listed.
  bool hidden(ItemId item) const { return items_[item].hidden; }
  // The way from the root, without a suffix; "" for the root.
  std::string path(ItemId item) const;

  // The items of a directory, in order, hidden ones too.
  std::span<const ItemId> children(ItemId directory) const;

  // The plain file or directory of that name, or kNoItem.
  ItemId find_entry(ItemId directory, std::string_view wanted) const;
  // The array of that stem, or kNoItem.
  ItemId find_array(ItemId directory, std::string_view stem) const;

  // Of a file or array: where its bytes are.
  const Store& store(ItemId item) const { return *stores_[items_[item].store]; }
  std::uint32_t store_index(ItemId item) const { return items_[item].index; }

  // Of an array.
  const ArrayInfo& info(ItemId array) const { return *infos_[items_[array].info]; }
  // Its key, unescaped, as meta.json's `name` has it.
  std::string key(ItemId array) const;
  // True if a real item stands where this virtual sibling would.
  bool shadowed(ItemId array, View view) const;

  std::int64_t mtime_ns(ItemId item) const;

  // "archive: member" of a member number that the Decoder reports.
  std::string place_of_member(std::uint64_t member_id) const;

  // Store::member_id of the item; nullopt for a directory.
  std::optional<std::uint64_t> member_id(ItemId item) const;

  const std::vector<Problem>& problems() const { return problems_; }

 private:
  friend class CatalogBuilder;

  struct Item {
    ItemId parent = kNoItem;
    std::uint32_t name_offset = 0;
    std::uint32_t index = 0;  // in the store; of a directory, how many children
    std::uint32_t info = 0;   // in infos_; of a directory, its first in children_
    std::uint32_t store = 0;
    std::uint8_t name_length = 0;
    ItemKind kind = ItemKind::kDirectory;
    bool hidden = false;
    std::uint8_t shadows = 0;  // a bit a view
  };

  Catalog() = default;
  ItemId find(ItemId directory, bool is_array, std::string_view wanted) const;
  std::size_t slot_of(ItemId directory, bool is_array, std::string_view wanted) const;

  std::vector<Item> items_;
  std::string names_;
  std::vector<ItemId> children_;
  std::vector<ItemId> slots_;  // open addressing, a power of two, at most half full
  std::vector<std::unique_ptr<const Store>> stores_;
  std::vector<std::string> key_prefixes_;  // of each store: the path of its container, with '/'
  std::vector<std::shared_ptr<const ArrayInfo>> infos_;
  std::unordered_map<ItemId, std::string> keys_;         // of arrays renamed in a conflict
  std::unordered_map<ItemId, std::int64_t> own_mtimes_;  // of directories that are real ones
  std::int64_t mtime_ns_ = 0;
  std::vector<Problem> problems_;
};

// Puts a Catalog together. Names that clash are settled here: of two things that want one name the
// later one gets "~2" and so on, a directory yields to a file, a sibling made by us to anything
// real. One thread.
class CatalogBuilder {
 public:
  // `mtime_ns`: of the source, for the directories that aren't real ones.
  explicit CatalogBuilder(std::int64_t mtime_ns);

  // Takes a store; `key_prefix` goes in front of its keys. Returns its number.
  std::uint32_t add_store(std::unique_ptr<const Store> store, std::string key_prefix);
  std::uint32_t add_info(std::shared_ptr<const ArrayInfo> info);

  // The directory `name`, made if there is none.
  ItemId directory(ItemId parent, std::string_view name);
  // The directory that the components but the last lead to.
  ItemId directory_of(ItemId parent, std::span<const std::string> components);
  // A new directory, of a container or a real one: "~2" if the name is taken.
  ItemId add_directory(ItemId parent, std::string_view name,
                       std::optional<std::int64_t> mtime_ns = std::nullopt);

  // `key` if it isn't the store's; a "~2" of the name is added to it.
  ItemId add_array(ItemId directory, std::string_view stem, std::uint32_t store,
                   std::uint32_t index, std::uint32_t info,
                   std::optional<std::string> key = std::nullopt);
  void set_info(ItemId array, std::uint32_t info) { catalog_.items_[array].info = info; }
  ItemId add_file(ItemId directory, std::string_view name, std::uint32_t store, std::uint32_t index,
                  bool hidden = false);

  // Openable by name, but not listed: what was taken apart.
  void hide(ItemId item, bool hidden) { catalog_.items_[item].hidden = hidden; }

  // Whether a real item has this file name: a file, a directory, or an array's .npy.
  bool taken(ItemId directory, std::string_view file_name) const;

  void add_problem(Problem problem) { catalog_.problems_.push_back(std::move(problem)); }

  const Catalog& so_far() const { return catalog_; }

  Catalog finish() &&;

 private:
  using Item = Catalog::Item;
  ItemId add(Item item, std::string_view name);
  void insert(ItemId item);
  void erase(ItemId item);
  void rename(ItemId item, std::string_view name);
  std::string free_name(ItemId directory, std::string_view name, std::string_view suffix);
  void make_room(ItemId directory, std::string_view file_name);
  void order_children();
  void mark_shadows();

  Catalog catalog_;
  std::size_t used_slots_ = 0;                                      // of the hash, erased ones too
  std::map<std::pair<ItemId, std::string>, unsigned> last_number_;  // given out as "~N"
  std::map<std::pair<ItemId, std::string>, ItemId> yielded_;  // directories whose name a file has
};

}  // namespace npyfs
