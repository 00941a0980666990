#include "tree/directory_loader.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace npyfs {
namespace {

constexpr std::string_view kIndexName = "index.npz";

std::string_view without(std::string_view text, std::string_view ending) {
  return text.substr(0, text.size() - ending.size());
}

// Whether an array of this key would be shown at `path`, in a mount of some --split. A copy then
// has the key of the original.
bool leads_to(const std::string& key, std::string_view path) {
  const auto shown = [&](std::optional<char> split) {
    std::string way;
    for (const std::string& component : path_components(key, split, kMostStemBytes)) {
      way += way.empty() ? "" : "/";
      way += component;
    }
    return way == path;
  };
  constexpr std::string_view kSplits = "._-:|+ ";  // what people have between the parts of a key
  return shown(std::nullopt) || std::ranges::any_of(kSplits, [&](char c) { return shown(c); });
}

}  // namespace

DirectoryLoader::DirectoryLoader(Loader& loader, std::shared_ptr<const Fd> root,
                                 std::string absolute_path)
    : loader_(loader),
      walk_(std::move(root), loader.options().confine_links),
      absolute_path_(std::move(absolute_path)),
      files_(loader, walk_) {
  auto store = std::make_unique<DiskStore>();
  disk_ = store.get();
  disk_store_ = loader_.builder().add_store(std::move(store), "");
}

void DirectoryLoader::load(const FileIdentity& root_identity) {
  std::vector<Work> open = {{"", root_identity, kRootItem, nullptr}};
  while (!open.empty()) {
    const Work work = std::move(open.back());
    open.pop_back();
    std::vector<Problem> problems;
    std::vector<Work> below;
    try {
      const auto directory = walk_.read(work.path, work.identity, work.above, problems);
      add_subdirectories(*directory, work.item, below, directory);
      load_directory(*directory, work.item);
    } catch (const Error& e) {
      if (work.path.empty()) {
        throw;
      }
      loader_.add_problem(work.path, e);
    }
    for (Problem& problem : problems) {
      loader_.builder().add_problem(std::move(problem));
    }
    // The first in order comes next, so that a directory's things stay together.
    open.insert(open.end(), std::make_move_iterator(below.rbegin()),
                std::make_move_iterator(below.rend()));
  }
}

void DirectoryLoader::add_subdirectories(const DiskDirectory& directory, ItemId item,
                                         std::vector<Work>& next,
                                         const std::shared_ptr<const DiskDirectory>& self) {
  for (const auto& [name, identity] : directory.directories) {
    // Names on disk keep their bytes, but one at the root is ours.
    const bool is_ours = item == kRootItem && name == ".npyfs";
    const std::string shown = is_ours ? "%2Enpyfs" : name;
    const ItemId below = loader_.builder().add_directory(item, shown, identity.mtime_ns);
    next.push_back({directory.path_of(name) + "/", identity, below, self});
  }
}

void DirectoryLoader::load_directory(const DiskDirectory& directory, ItemId item) {
  load_index(directory, item);
  // Names that are spoken for. Arrays come first, since they may take their sidecars with them.
  Names done = find_copies(directory);
  for (const auto& [name, identity] : directory.files) {
    const std::string path = directory.path_of(name);
    try {
      if (!shards_.contains(path)) {
        load_array(directory, item, name, done);
      }
    } catch (const Error& e) {
      complain(path, e);
    }
  }
  for (const auto& [name, identity] : directory.files) {
    if (!done.contains(name)) {
      load_file(directory, item, name);
    }
  }
}

void DirectoryLoader::load_index(const DiskDirectory& directory, ItemId item) {
  const auto found = directory.files.find(std::string(kIndexName));
  if (found == directory.files.end()) {
    return;
  }
  const std::string path = directory.path_of(kIndexName);
  DiskFiles::Archive* archive = files_.archive(path, found->second);
  if (archive == nullptr) {
    return;
  }
  const ShardIndex index = read_shard_index(*archive->npz);
  std::vector<const ShardEntry*> unresolved;
  bool any = false;
  for (const ShardEntry& entry : index.entries) {
    if (load_entry(directory, item, entry)) {
      any = true;
      archive->taken[entry.member] = true;
    } else {
      unresolved.push_back(&entry);
    }
  }
  if (!any && (index.entries.empty() || !index.others.empty())) {
    return;  // an archive that happens to have this name
  }
  shards_.insert(path);
  for (const ShardEntry* entry : unresolved) {
    archive->taken[entry->member] = true;
    loader_.builder().add_problem(
        {path + ": " + entry->key,
         text_of(path, ": ", entry->key, ": names the shard '", entry->path,
                 "', and no such array lies below the index; copy the shard there"),
         ENOENT});
  }
  for (const Npz::Remark& each : index.unreadable) {
    loader_.add_problem(place_of(archive->npz->origin(each.index)), each.error);
  }
  for (const std::uint32_t other : index.others) {
    loader_.builder().add_problem(
        {path + ": " + archive->npz->key(other),
         text_of(path, ": ", archive->npz->key(other), ": not the path of a shard; shown below ",
                 without(kIndexName, ".npz"), "/"),
         EINVAL});
  }
}

// Puts one array of an index in its place. False if its shard isn't there.
bool DirectoryLoader::load_entry(const DiskDirectory& directory, ItemId item,
                                 const ShardEntry& entry) {
  std::string own_path = absolute_path_;
  if (!directory.path.empty()) {
    own_path += "/" + std::string(without(directory.path, "/"));
  }
  for (const std::string& candidate : shard_candidates(entry, own_path)) {
    const std::string path = directory.path_of(candidate);
    try {
      if (walk_.allowed(path) && load_entry_from(path, item, directory, entry)) {
        return true;
      }
    } catch (const Error& e) {
      complain(path, e);
    }
  }
  return false;
}

bool DirectoryLoader::load_entry_from(const std::string& path, ItemId item,
                                      const DiskDirectory& directory, const ShardEntry& entry) {
  struct stat status = {};
  if (::fstatat(walk_.root()->get(), path.c_str(), &status, 0) != 0 || !S_ISREG(status.st_mode)) {
    return false;
  }
  const FileIdentity identity = identity_of(status);
  const auto components = path_components(entry.key, loader_.options().split, kMostStemBytes);
  const auto place = [&] {
    const ItemId parent = loader_.builder().directory_of(item, components);
    return Loader::Place{parent, components.back(), directory.path + entry.key};
  };
  const auto file = files_.file(path, identity);
  if (const auto found = files_.describe(path, *file)) {
    shards_.insert(path);
    const std::uint32_t index = disk_->add(file, found->ending, found->is_image);
    loader_.add_array(place(), disk_store_, index, found->info);
    return true;
  }
  DiskFiles::Archive* archive = files_.archive(path, identity);
  if (archive == nullptr) {
    return false;
  }
  for (std::uint32_t i = 0; i < archive->npz->count(); ++i) {
    const bool holds = archive->npz->info(i) != nullptr &&
                       !archive->npz->archive().member(i).is_superseded &&
                       archive->npz->key(i) == entry.key;
    if (holds) {
      shards_.insert(path);
      archive->taken[i] = true;
      loader_.add_array(place(), archive->store, i, archive->npz->info(i));
      return true;
    }
  }
  return false;
}

// The files beside a meta.json of ours that a mount would show beside it: they came from a copy,
// and aren't arrays of their own. If one isn't as the mount had it, they are no copy any more.
DirectoryLoader::Names DirectoryLoader::find_copies(const DiskDirectory& directory) const {
  Names folded;
  for (const auto& [name, identity] : directory.files) {
    if (!name.ends_with(kMetaEnding) || identity.size > kMaxSidecarSize) {
      continue;
    }
    const auto sidecar = files_.sidecar(directory.path_of(name));
    if (!sidecar || !sidecar->ours) {
      continue;
    }
    const std::string stem(without(name, kMetaEnding));
    std::vector<std::string> siblings;
    bool has_data = false;
    bool all_match = true;
    for (const auto& [ending, size] : sidecar->files) {
      const std::string sibling = text_of(stem, ".", ending);
      const auto file = directory.files.find(sibling);
      if (file != directory.files.end()) {
        siblings.push_back(sibling);
        has_data = has_data || ending == "npy" || ending == "raw";
        all_match = all_match && file->second.size == size;
      }
    }
    if (has_data && all_match) {
      folded.insert(siblings.begin(), siblings.end());
      folded.insert(name);
    }
  }
  return folded;
}

// A file that is no array of its own: an archive, a shard that an index put elsewhere, or anything.
void DirectoryLoader::load_file(const DiskDirectory& directory, ItemId item,
                                const std::string& name) {
  const std::string path = directory.path_of(name);
  const FileIdentity& identity = directory.files.at(name);
  bool hidden = shards_.contains(path);
  try {
    hidden = load_archive(path, name, identity, item) || hidden;
  } catch (const Error& e) {
    complain(path, e);
  }
  if (hidden && is_own_view(path, name, item)) {
    return;
  }
  const ItemId file = add_plain(path, name, identity, item, hidden);
  if (const auto stem = hidden ? std::nullopt : pickle_stem(name)) {
    loader_.add_pickle(file, *stem, 0);
  }
}

// Whether an array shows the file under its name anyway: often an index puts it just where it lies.
bool DirectoryLoader::is_own_view(const std::string& path, std::string_view name,
                                  ItemId item) const {
  const Catalog& catalog = loader_.builder().so_far();
  for (const View view : {View::kNpy, View::kRaw}) {
    if (!name.ends_with(suffix(view))) {
      continue;
    }
    const ItemId array = catalog.find_array(item, without(name, suffix(view)));
    return array != kNoItem && catalog.store(array).origin(catalog.store_index(array)).file == path;
  }
  return false;
}

// Adds a file that is an array: an image, or data with a sidecar. Its name, and that of a sidecar
// whose place our own takes, are `done` then.
void DirectoryLoader::load_array(const DiskDirectory& directory, ItemId item,
                                 const std::string& name, Names& done) {
  const auto ending = std::ranges::find_if(
      kDataEndings, [&](std::string_view each) { return name.ends_with(each); });
  if (ending == kDataEndings.end()) {
    return;
  }
  const std::string stem(without(name, *ending));
  const std::string meta = stem + std::string(kMetaEnding);
  if (done.contains(name) && !done.contains(meta)) {
    return;  // X.u8view.npy of a copy
  }
  for (auto earlier = kDataEndings.begin(); earlier != ending; ++earlier) {
    if (directory.files.contains(stem + std::string(*earlier))) {
      return;  // X.raw beside X.npy is a file of its own, or part of a copy
    }
  }
  const std::string path = directory.path_of(name);
  const auto file = files_.file(path, directory.files.at(name));
  const auto found = files_.describe(path, *file);
  if (!found) {
    return;
  }
  const std::uint32_t index = disk_->add(file, found->ending, found->is_image);
  std::string key(without(path, *ending));
  if (!found->sidecar_ending.empty()) {
    if (const auto sidecar = files_.sidecar(directory.path_of(meta))) {
      done.insert(meta);
      key = sidecar->ours && leads_to(sidecar->name, key) ? sidecar->name : key;
    }
  }
  loader_.add_array({item, stem, std::move(key)}, disk_store_, index, found->info);
  if (*ending == ".bin") {
    add_plain(path, name, directory.files.at(name), item, true);
  }
  done.insert(name);
}

// An archive with arrays in it becomes a directory.
bool DirectoryLoader::load_archive(const std::string& path, const std::string& name,
                                   const FileIdentity& identity, ItemId item) {
  const DiskFiles::Archive* archive = files_.archive(path, identity);
  if (archive == nullptr || !archive->npz->has_arrays()) {
    return false;
  }
  for (std::uint32_t i = 0; i < archive->npz->count(); ++i) {
    if (archive->npz->info(i) != nullptr && !archive->taken[i]) {
      const std::size_t dot = name.rfind('.');
      const std::string_view stem =
          std::string_view(name).substr(0, dot == 0 ? std::string::npos : dot);
      const ItemId below = loader_.builder().add_directory(item, stem);
      loader_.add_npz(*archive->npz, archive->store, below, archive->taken);
      break;
    }
  }
  return true;
}

// An index may lead to a file that is looked at again when its directory is read.
void DirectoryLoader::complain(const std::string& path, const Error& error) {
  if (complained_.insert(path).second) {
    loader_.add_problem(path, error);
  }
}

ItemId DirectoryLoader::add_plain(const std::string& path, std::string_view name,
                                  const FileIdentity& identity, ItemId item, bool hidden) {
  const bool is_ours = item == kRootItem && name == ".npyfs";
  const std::uint32_t index = disk_->add(files_.file(path, identity), "", false);
  return loader_.builder().add_file(item, is_ours ? "%2Enpyfs" : name, disk_store_, index, hidden);
}

}  // namespace npyfs
