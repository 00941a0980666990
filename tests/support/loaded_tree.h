// A source loaded as for a mount, and looked at by path, as a reader of the mount would.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"
#include "npyfs/tree/load.h"
#include "npyfs/tree/tree.h"

namespace npyfs {

class LoadedTree {
 public:
  explicit LoadedTree(const std::string& path, const LoadOptions& options = {},
                      const ViewSet& listed = kUsualViews)
      : LoadedTree(path, options, listed, std::make_shared<Decoder>()) {}

  const Tree& tree() const { return tree_; }
  const std::vector<Problem>& problems() const { return tree_.catalog().problems(); }

  std::optional<Inode> find(std::string_view path) const {
    Inode at = Tree::kRoot;
    while (!path.empty()) {
      const std::size_t end = std::min(path.find('/'), path.size());
      const auto next = tree_.lookup(at, path.substr(0, end));
      if (!next) {
        return std::nullopt;
      }
      at = *next;
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    return at;
  }
  bool exists(std::string_view path) const { return find(path).has_value(); }

  Inode at(std::string_view path) const {
    const auto inode = find(path);
    if (!inode) {
      throw_error(ENOENT, std::string(path) + ": not in the tree");
    }
    return *inode;
  }

  std::string text(std::string_view path) const {
    const SourcePtr source = tree_.open(at(path));
    const auto bytes = read_bytes(*source, 0, source->size());
    return std::string(text_view(bytes));
  }

  std::uint64_t size(std::string_view path) const { return tree_.attributes(at(path)).size; }

  // Names in the order of a listing, without "." and "..".
  std::vector<std::string> names(std::string_view directory = "") const {
    std::vector<std::string> names;
    tree_.list(at(directory), 0, [&](const Tree::Entry& entry) {
      if (entry.name != "." && entry.name != "..") {
        names.emplace_back(entry.name);
      }
      return true;
    });
    return names;
  }

  // The paths of all arrays, in their order.
  std::vector<std::string> arrays() const {
    const Catalog& catalog = tree_.catalog();
    std::vector<std::string> paths;
    for (ItemId i = 1; i < catalog.count(); ++i) {
      if (catalog.kind(i) == ItemKind::kArray) {
        paths.push_back(catalog.path(i));
      }
    }
    return paths;
  }

  // 0, or the errno with which the tree refuses the file or its bytes.
  int errno_of(std::string_view path) const {
    try {
      const Inode inode = at(path);
      tree_.check(inode);
      const SourcePtr source = tree_.open(inode);
      read_bytes(*source, 0, source->size());
      tree_.check(inode);
      return 0;
    } catch (const Error& error) {
      return error.errno_value();
    }
  }

 private:
  LoadedTree(const std::string& path, const LoadOptions& options, const ViewSet& listed,
             const std::shared_ptr<Decoder>& decoder)
      : tree_(load(path, options, decoder), decoder, listed, [] { return std::string("{}\n"); }) {}

  Tree tree_;
};

}  // namespace npyfs
