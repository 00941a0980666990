#include "npyfs/tree/tree.h"

#include <algorithm>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

constexpr std::string_view kControlName = ".npyfs";
constexpr std::array<std::string_view, 3> kControlFiles = {"manifest.json", "errors.json",
                                                           "stats.json"};

// Offsets in a listing: "." and "..", then eight for each child, one for each of its files.
constexpr std::uint64_t kDots = 2;
constexpr std::uint64_t kPerChild = 8;

// A name that ends in several suffixes belongs to the longest: x.u8view.npy is a view of x.
constexpr std::array<View, 5> kLongestFirst = {View::kF32view, View::kC64view, View::kU8view,
                                               View::kMeta, View::kRaw};

}  // namespace

Faults::Faults(const std::vector<Problem>& known) {
  for (const Problem& problem : known) {
    known_.emplace(problem.where, problem.errno_value);
  }
}

bool Faults::add(Problem problem) {
  const std::lock_guard lock(mutex_);
  if (problems_.size() >= kMost || !known_.emplace(problem.where, problem.errno_value).second) {
    return false;
  }
  problems_.push_back(std::move(problem));
  return true;
}

std::vector<Problem> Faults::all() const {
  const std::lock_guard lock(mutex_);
  return problems_;
}

Tree::Tree(Catalog catalog, std::shared_ptr<Decoder> decoder, const ViewSet& listed,
           std::function<std::string()> statistics)
    : catalog_(std::move(catalog)),
      views_(catalog_, std::move(decoder)),
      listed_(listed),
      statistics_(std::move(statistics)),
      faults_(catalog_.problems()) {}

Inode Tree::inode_of(ItemId item, View view) {
  return item == kRootItem ? kRoot : kFirst + kPerItem * item + static_cast<Inode>(view);
}

ItemId Tree::item_of(Inode inode) const {
  if (inode == kRoot) {
    return kRootItem;
  }
  const Inode item = inode < kFirst ? kNoItem : (inode - kFirst) / kPerItem;
  const Inode view = inode < kFirst ? 0 : (inode - kFirst) % kPerItem;
  const bool exists =
      item != kRootItem && item < catalog_.count() &&
      (view == 0 || (view < kViews && has_view(static_cast<ItemId>(item), view_of(inode))));
  if (!exists) {
    throw_error(ENOENT, text_of("inode ", inode, " doesn't exist"));
  }
  return static_cast<ItemId>(item);
}

bool Tree::has_view(ItemId item, View view) const {
  return catalog_.kind(item) == ItemKind::kArray && views_.exists(item, view);
}

ItemId Tree::directory_of(Inode inode) const {
  const ItemId item = item_of(inode);
  if (catalog_.kind(item) != ItemKind::kDirectory) {
    throw_error(ENOTDIR, path(inode) + ": not a directory");
  }
  return item;
}

std::optional<Inode> Tree::lookup(Inode directory, std::string_view name) const {
  if (directory == kControl) {
    const auto found = std::ranges::find(kControlFiles, name);
    return found == kControlFiles.end()
               ? std::nullopt
               : std::optional(kManifest + static_cast<Inode>(found - kControlFiles.begin()));
  }
  const ItemId parent = directory_of(directory);
  if (parent == kRootItem && name == kControlName) {
    return kControl;
  }
  const ItemId entry = catalog_.find_entry(parent, name);
  return entry != kNoItem ? std::optional(inode_of(entry)) : lookup_array(parent, name);
}

std::optional<Inode> Tree::lookup_array(ItemId directory, std::string_view name) const {
  const auto probe = [&](View view) -> std::optional<Inode> {
    if (!name.ends_with(suffix(view))) {
      return std::nullopt;
    }
    const std::string_view stem = name.substr(0, name.size() - suffix(view).size());
    const ItemId array = catalog_.find_array(directory, stem);
    const bool exists = array != kNoItem && views_.exists(array, view);
    return exists ? std::optional(inode_of(array, view)) : std::nullopt;
  };
  // A real NAME.npy comes before any view of ours.
  if (const auto npy = probe(View::kNpy)) {
    return npy;
  }
  for (const View view : kLongestFirst) {
    if (const auto found = probe(view)) {
      return found;
    }
  }
  return std::nullopt;
}

Tree::Attributes Tree::control_attributes(Inode inode) const {
  Attributes attributes;
  attributes.inode = inode;
  attributes.mtime_ns = catalog_.mtime_ns(kRootItem);
  attributes.is_directory = inode == kControl;
  attributes.is_volatile = inode == kErrors || inode == kStats;
  if (inode == kManifest) {
    attributes.size = manifest_source()->size();
  } else if (attributes.is_volatile) {
    attributes.size = open(inode)->size();
  }
  return attributes;
}

Tree::Attributes Tree::attributes(Inode inode) const {
  if (inode >= kControl && inode <= kStats) {
    return control_attributes(inode);
  }
  const ItemId item = item_of(inode);
  Attributes attributes;
  attributes.inode = inode;
  attributes.mtime_ns = catalog_.mtime_ns(item);
  switch (catalog_.kind(item)) {
    case ItemKind::kDirectory:
      attributes.is_directory = true;
      break;
    case ItemKind::kFile:
      attributes.size = catalog_.store(item).size(catalog_.store_index(item));
      break;
    case ItemKind::kArray:
      attributes.size = views_.size(item, view_of(inode));
      break;
  }
  return attributes;
}

void Tree::list(Inode directory, std::uint64_t offset,
                const std::function<bool(const Entry&)>& take) const {
  if (directory == kControl) {
    list_control(offset, take);
    return;
  }
  const ItemId item = directory_of(directory);
  const Inode above = item == kRootItem ? kRoot : inode_of(catalog_.parent(item));
  if (offset == 0 && !take({".", directory, true, 1})) {
    return;
  }
  if (offset <= 1 && !take({"..", above, true, kDots})) {
    return;
  }
  offset = std::max(offset, kDots) - kDots;
  const auto children = catalog_.children(item);
  for (std::uint64_t child = offset / kPerChild; child < children.size(); ++child) {
    const std::uint64_t first_view = child == offset / kPerChild ? offset % kPerChild : 0;
    if (!list_item(children[child], child, first_view, take)) {
      return;
    }
  }
}

// The entries that one child makes, from `first_view` on. False if `take` had enough.
bool Tree::list_item(ItemId item, std::uint64_t child, std::uint64_t first_view,
                     const std::function<bool(const Entry&)>& take) const {
  const std::uint64_t begin = kDots + child * kPerChild;
  if (catalog_.kind(item) != ItemKind::kArray) {
    const bool is_directory = catalog_.kind(item) == ItemKind::kDirectory;
    return first_view > 0 || catalog_.hidden(item) ||
           take({catalog_.name(item), inode_of(item), is_directory, begin + kPerChild});
  }
  std::string name(catalog_.name(item));
  const std::size_t stem = name.size();
  for (std::size_t i = first_view; i < kViews; ++i) {
    const View view = static_cast<View>(i);
    if (!listed_[i] || !views_.exists(item, view)) {
      continue;
    }
    name.resize(stem);
    name += suffix(view);
    if (!take({name, inode_of(item, view), false, begin + i + 1})) {
      return false;
    }
  }
  return true;
}

void Tree::list_control(std::uint64_t offset, const std::function<bool(const Entry&)>& take) const {
  if (offset == 0 && !take({".", kControl, true, 1})) {
    return;
  }
  if (offset <= 1 && !take({"..", kRoot, true, kDots})) {
    return;
  }
  for (std::uint64_t i = std::max(offset, kDots) - kDots; i < kControlFiles.size(); ++i) {
    if (!take({kControlFiles[i], kManifest + i, false, kDots + i + 1})) {
      return;
    }
  }
}

SourcePtr Tree::manifest_source() const {
  std::call_once(manifest_once_, [this] { manifest_ = manifest(views_); });
  return manifest_;
}

SourcePtr Tree::open(Inode inode) const {
  switch (inode) {
    case kManifest:
      return manifest_source();
    case kStats:
      return memory(statistics_());
    case kErrors: {
      std::vector<Problem> problems = catalog_.problems();
      for (Problem& problem : faults_.all()) {
        problems.push_back(std::move(problem));
      }
      return memory(problems_json(problems));
    }
    default:
      break;
  }
  if (inode == kControl || catalog_.kind(item_of(inode)) == ItemKind::kDirectory) {
    throw_error(EISDIR, path(inode) + ": a directory");
  }
  const ItemId item = item_of(inode);
  return catalog_.kind(item) == ItemKind::kFile
             ? catalog_.store(item).open(catalog_.store_index(item))
             : views_.open(item, view_of(inode));
}

void Tree::check(Inode inode) const {
  if (inode < kFirst) {
    return;
  }
  const ItemId item = item_of(inode);
  if (catalog_.kind(item) != ItemKind::kDirectory) {
    catalog_.store(item).check(catalog_.store_index(item));
  }
}

std::optional<std::uint64_t> Tree::member_id(Inode inode) const {
  return inode < kFirst ? std::nullopt : catalog_.member_id(item_of(inode));
}

std::string Tree::place(Inode inode) const {
  const ItemId item = inode < kFirst ? kRootItem : item_of(inode);
  if (catalog_.kind(item) == ItemKind::kDirectory) {
    return path(inode);
  }
  return place_of(catalog_.store(item).origin(catalog_.store_index(item)));
}

std::string Tree::path(Inode inode) const {
  if (inode == kControl) {
    return std::string(kControlName);
  }
  if (inode > kControl && inode <= kStats) {
    return std::string(kControlName) + "/" + std::string(kControlFiles[inode - kManifest]);
  }
  const ItemId item = item_of(inode);
  const bool is_array = catalog_.kind(item) == ItemKind::kArray;
  return catalog_.path(item) + std::string(is_array ? suffix(view_of(inode)) : "");
}

}  // namespace npyfs
