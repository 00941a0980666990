#include "npyfs/tree/catalog.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <limits>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"
#include "npyfs/format/npz.h"

namespace npyfs {
namespace {

constexpr ItemId kErased = kNoItem - 1;  // in slots_: was taken, a search goes on past it
constexpr std::uint32_t kMostItems = std::uint32_t{1} << 31;

std::size_t hash_of(ItemId directory, bool is_array, std::string_view name) {
  const std::size_t place =
      (std::size_t{directory} << 1 | (is_array ? 1 : 0)) * 0x9E3779B97F4A7C15u;
  return std::hash<std::string_view>()(name) ^ place ^ place >> 29;
}

constexpr std::array<View, 5> kVirtualViews = {View::kRaw, View::kU8view, View::kMeta,
                                               View::kF32view, View::kC64view};

// `name` with "~number" behind it, cut if need be.
std::string numbered(std::string_view name, unsigned number, std::size_t most_bytes) {
  const std::string tail = "~" + std::to_string(number);
  if (name.size() + tail.size() <= most_bytes) {
    return std::string(name) + tail;
  }
  std::size_t end = most_bytes - tail.size() - 17;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) {
    --end;
  }
  return std::string(name.substr(0, end)) + "~" + sha256_hex(name, 16) + tail;
}

}  // namespace

std::string_view Catalog::name(ItemId item) const {
  return std::string_view(names_).substr(items_[item].name_offset, items_[item].name_length);
}

std::string Catalog::path(ItemId item) const {
  std::vector<ItemId> way;
  for (; item != kRootItem; item = parent(item)) {
    way.push_back(item);
  }
  std::string path;
  for (auto step = way.rbegin(); step != way.rend(); ++step) {
    path += path.empty() ? "" : "/";
    path += name(*step);
  }
  return path;
}

std::span<const ItemId> Catalog::children(ItemId directory) const {
  assert(kind(directory) == ItemKind::kDirectory);
  return std::span(children_).subspan(items_[directory].info, items_[directory].index);
}

// The slot that holds the item, or the empty one that ends the search for it.
std::size_t Catalog::slot_of(ItemId directory, bool is_array, std::string_view wanted) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_of(directory, is_array, wanted) & mask;; at = (at + 1) & mask) {
    const ItemId found = slots_[at];
    if (found == kNoItem) {
      return at;
    }
    const bool same = found != kErased && items_[found].parent == directory &&
                      (items_[found].kind == ItemKind::kArray) == is_array && name(found) == wanted;
    if (same) {
      return at;
    }
  }
}

ItemId Catalog::find(ItemId directory, bool is_array, std::string_view wanted) const {
  return slots_[slot_of(directory, is_array, wanted)];
}

ItemId Catalog::find_entry(ItemId directory, std::string_view wanted) const {
  return find(directory, false, wanted);
}

ItemId Catalog::find_array(ItemId directory, std::string_view stem) const {
  return find(directory, true, stem);
}

std::string Catalog::key(ItemId array) const {
  const auto renamed = keys_.find(array);
  if (renamed != keys_.end()) {
    return renamed->second;
  }
  return key_prefixes_[items_[array].store] + store(array).key(store_index(array));
}

bool Catalog::shadowed(ItemId array, View view) const {
  return (items_[array].shadows >> static_cast<unsigned>(view) & 1) != 0;
}

std::int64_t Catalog::mtime_ns(ItemId item) const {
  if (kind(item) != ItemKind::kDirectory) {
    return store(item).mtime_ns(store_index(item));
  }
  const auto own = own_mtimes_.find(item);
  return own != own_mtimes_.end() ? own->second : mtime_ns_;
}

std::string Catalog::place_of_member(std::uint64_t member_id) const {
  for (const auto& each : stores_) {
    const auto* npz = dynamic_cast<const Npz*>(each.get());
    if (npz != nullptr && npz->archive().id() == member_id >> 32) {
      return place_of(npz->origin(static_cast<std::uint32_t>(member_id)));
    }
  }
  return "member " + std::to_string(member_id);
}

std::optional<std::uint64_t> Catalog::member_id(ItemId item) const {
  return kind(item) == ItemKind::kDirectory ? std::nullopt
                                            : store(item).member_id(store_index(item));
}

CatalogBuilder::CatalogBuilder(std::int64_t mtime_ns) {
  catalog_.mtime_ns_ = mtime_ns;
  catalog_.items_.emplace_back();  // the root, which no search finds
  catalog_.slots_.assign(64, kNoItem);
}

std::uint32_t CatalogBuilder::add_store(std::unique_ptr<const Store> store,
                                        std::string key_prefix) {
  catalog_.stores_.push_back(std::move(store));
  catalog_.key_prefixes_.push_back(std::move(key_prefix));
  return static_cast<std::uint32_t>(catalog_.stores_.size() - 1);
}

std::uint32_t CatalogBuilder::add_info(std::shared_ptr<const ArrayInfo> info) {
  catalog_.infos_.push_back(std::move(info));
  return static_cast<std::uint32_t>(catalog_.infos_.size() - 1);
}

ItemId CatalogBuilder::directory(ItemId parent, std::string_view name) {
  const ItemId found = catalog_.find_entry(parent, name);
  if (found != kNoItem && catalog_.kind(found) == ItemKind::kDirectory) {
    return found;
  }
  if (!taken(parent, name)) {
    return add({.parent = parent, .kind = ItemKind::kDirectory}, name);
  }
  const auto [yielded, fresh] = yielded_.try_emplace({parent, std::string(name)}, kNoItem);
  if (fresh) {
    yielded->second = add_directory(parent, name);
  }
  return yielded->second;
}

ItemId CatalogBuilder::directory_of(ItemId parent, std::span<const std::string> components) {
  for (const std::string& component : components.first(components.size() - 1)) {
    parent = directory(parent, component);
  }
  return parent;
}

ItemId CatalogBuilder::add_directory(ItemId parent, std::string_view name,
                                     std::optional<std::int64_t> mtime_ns) {
  const ItemId item =
      add({.parent = parent, .kind = ItemKind::kDirectory}, free_name(parent, name, ""));
  if (mtime_ns) {
    catalog_.own_mtimes_.emplace(item, *mtime_ns);
  }
  return item;
}

ItemId CatalogBuilder::add_array(ItemId directory, std::string_view stem, std::uint32_t store,
                                 std::uint32_t index, std::uint32_t info,
                                 std::optional<std::string> key) {
  make_room(directory, std::string(stem).append(suffix(View::kNpy)));
  const std::string own_stem = free_name(directory, stem, suffix(View::kNpy));
  const ItemId item = add(
      {.parent = directory, .index = index, .info = info, .store = store, .kind = ItemKind::kArray},
      own_stem);
  if (own_stem != stem) {
    key = key.value_or(catalog_.key(item)) + own_stem.substr(own_stem.rfind('~'));
  }
  if (key) {
    catalog_.keys_.emplace(item, std::move(*key));
  }
  return item;
}

ItemId CatalogBuilder::add_file(ItemId directory, std::string_view name, std::uint32_t store,
                                std::uint32_t index, bool hidden) {
  make_room(directory, name);
  return add({.parent = directory,
              .index = index,
              .store = store,
              .kind = ItemKind::kFile,
              .hidden = hidden},
             free_name(directory, name, ""));
}

ItemId CatalogBuilder::add(Item item, std::string_view name) {
  if (catalog_.items_.size() >= kMostItems ||
      catalog_.names_.size() + name.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw_unsupported("more than ", kMostItems,
                      " things, or 4 GiB of names, in one source; mount a part of it");
  }
  if (name.size() > kMostNameBytes) {
    throw_error(ENAMETOOLONG, text_of("a name of ", name.size(), " bytes"));
  }
  item.name_offset = static_cast<std::uint32_t>(catalog_.names_.size());
  item.name_length = static_cast<std::uint8_t>(name.size());
  catalog_.names_ += name;
  catalog_.items_.push_back(item);
  const ItemId id = catalog_.count() - 1;
  insert(id);
  return id;
}

void CatalogBuilder::insert(ItemId item) {
  if (++used_slots_ > catalog_.slots_.size() / 2) {
    // The new item itself is among items_ already, so this places it too.
    catalog_.slots_.assign(catalog_.slots_.size() * 2, kNoItem);
    used_slots_ = catalog_.items_.size() - 1;
    for (ItemId each = 1; each < catalog_.count(); ++each) {
      const bool is_array = catalog_.kind(each) == ItemKind::kArray;
      catalog_.slots_[catalog_.slot_of(catalog_.parent(each), is_array, catalog_.name(each))] =
          each;
    }
    return;
  }
  const bool is_array = catalog_.kind(item) == ItemKind::kArray;
  catalog_.slots_[catalog_.slot_of(catalog_.parent(item), is_array, catalog_.name(item))] = item;
}

void CatalogBuilder::erase(ItemId item) {
  const bool is_array = catalog_.kind(item) == ItemKind::kArray;
  catalog_.slots_[catalog_.slot_of(catalog_.parent(item), is_array, catalog_.name(item))] = kErased;
}

void CatalogBuilder::rename(ItemId item, std::string_view name) {
  erase(item);
  catalog_.items_[item].name_offset = static_cast<std::uint32_t>(catalog_.names_.size());
  catalog_.items_[item].name_length = static_cast<std::uint8_t>(name.size());
  catalog_.names_ += name;
  insert(item);
}

bool CatalogBuilder::taken(ItemId directory, std::string_view file_name) const {
  if (catalog_.find_entry(directory, file_name) != kNoItem) {
    return true;
  }
  const std::string_view npy = suffix(View::kNpy);
  return file_name.ends_with(npy) &&
         catalog_.find_array(directory, file_name.substr(0, file_name.size() - npy.size())) !=
             kNoItem;
}

// `name`, or the first `name~N` for which no real item is called `name~N` + `suffix`.
std::string CatalogBuilder::free_name(ItemId directory, std::string_view name,
                                      std::string_view suffix) {
  std::string file_name = std::string(name).append(suffix);
  if (!taken(directory, file_name)) {
    return std::string(name);
  }
  unsigned& number = last_number_.try_emplace({directory, file_name}, 1).first->second;
  std::string free;
  do {
    ++number;
    free = numbered(name, number, suffix.empty() ? kMostNameBytes : kMostStemBytes);
  } while (taken(directory, free + std::string(suffix)));
  return free;
}

// Moves a directory away that has the name a file is about to take.
void CatalogBuilder::make_room(ItemId directory, std::string_view file_name) {
  const ItemId found = catalog_.find_entry(directory, file_name);
  if (found != kNoItem && catalog_.kind(found) == ItemKind::kDirectory) {
    rename(found, free_name(directory, file_name, ""));
    yielded_.insert_or_assign({directory, std::string(file_name)}, found);
  }
}

Catalog CatalogBuilder::finish() && {
  order_children();
  mark_shadows();
  catalog_.items_.shrink_to_fit();
  catalog_.names_.shrink_to_fit();
  return std::move(catalog_);
}

void CatalogBuilder::order_children() {
  auto& items = catalog_.items_;
  for (ItemId i = 1; i < items.size(); ++i) {
    ++items[items[i].parent].index;
  }
  std::uint32_t first = 0;
  for (Item& item : items) {
    if (item.kind == ItemKind::kDirectory) {
      item.info = first;
      first += item.index;
      item.index = 0;
    }
  }
  catalog_.children_.resize(items.size() - 1);
  for (ItemId i = 1; i < items.size(); ++i) {
    Item& parent = items[items[i].parent];
    catalog_.children_[parent.info + parent.index++] = i;
  }
}

void CatalogBuilder::mark_shadows() {
  for (ItemId i = 1; i < catalog_.count(); ++i) {
    std::string name(catalog_.name(i));
    if (catalog_.kind(i) == ItemKind::kArray) {
      name += suffix(View::kNpy);
    }
    for (const View view : kVirtualViews) {
      if (!name.ends_with(suffix(view))) {
        continue;
      }
      const std::string_view stem =
          std::string_view(name).substr(0, name.size() - suffix(view).size());
      const ItemId array = catalog_.find_array(catalog_.parent(i), stem);
      if (array != kNoItem) {
        catalog_.items_[array].shadows |=
            static_cast<std::uint8_t>(1u << static_cast<unsigned>(view));
      }
    }
  }
}

}  // namespace npyfs
