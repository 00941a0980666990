#include "cli/source_tree.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string_view>
#include <utility>

#include <fnmatch.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

constexpr std::string_view kIndexMark = "index.npz: ";

bool fits(const std::string& glob, const std::string& text) {
  return glob == text || ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

bool is_path_of(const Catalog& catalog, ItemId array, std::string_view name) {
  const std::string path = catalog.path(array);
  if (!name.starts_with(path)) {
    return false;
  }
  name.remove_prefix(path.size());
  if (name.empty()) {
    return true;
  }
  for (std::size_t i = 0; i < kViews; ++i) {
    if (name == suffix(static_cast<View>(i))) {
      return true;
    }
  }
  return false;
}

Selection select(const Catalog& catalog, std::span<const std::string> wanted,
                 const std::function<bool(const std::string&, ItemId)>& matches) {
  Selection selection;
  std::vector<bool> matched(wanted.size());
  const auto any = [&](const std::function<bool(const std::string&)>& fits_one) {
    bool found = wanted.empty();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (fits_one(wanted[i])) {
        matched[i] = true;
        found = true;
      }
    }
    return found;
  };
  for (ItemId item = 0; item < catalog.count(); ++item) {
    if (catalog.kind(item) == ItemKind::kArray &&
        any([&](const std::string& each) { return matches(each, item); })) {
      selection.arrays.push_back(item);
    }
  }
  for (const Problem& problem : catalog.problems()) {
    const std::string key = missing_key(problem);
    if (!key.empty() && any([&](const std::string& each) { return fits(each, key); })) {
      selection.missing.push_back(&problem);
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!matched[i]) {
      selection.unmatched.push_back(wanted[i]);
    }
  }
  return selection;
}

// Why there is no file at `path`, whose way leads through `directory` up to the component `name`.
[[noreturn]] void throw_no_file(const Tree& tree, const std::string& path, Inode directory,
                                const std::string& name) {
  if (const auto npy = tree.lookup(directory, name + std::string(suffix(View::kNpy)))) {
    std::string files;
    for (std::size_t i = 0; i < kViews; ++i) {
      const std::string file = name + std::string(suffix(static_cast<View>(i)));
      files += tree.lookup(directory, file) ? (files.empty() ? "" : ", ") + file : "";
    }
    throw_error(ENOENT, path + ": no such file; the array's files are " + files);
  }
  throw_error(ENOENT, path +
                          ": no such file; 'npyfs ls' lists the arrays, whose files end in .npy, "
                          ".raw, .u8view.npy and .meta.json");
}

}  // namespace

std::unique_ptr<Tree> open_source(const std::string& path, const LoadOptions& options) {
  auto decoder = std::make_shared<Decoder>();
  Catalog catalog = load(path, options, decoder);
  return std::make_unique<Tree>(
      std::move(catalog), std::move(decoder), kUsualViews,
      []() -> std::string { throw_error(ENOENT, ".npyfs/stats.json: only a mount has it"); });
}

std::string missing_key(const Problem& problem) {
  const std::size_t at = problem.where.find(kIndexMark);
  const bool is_index = at == 0 || (at != std::string::npos && problem.where[at - 1] == '/');
  return problem.errno_value == ENOENT && is_index ? problem.where.substr(at + kIndexMark.size())
                                                   : "";
}

std::string_view text_without_place(const Problem& problem) {
  std::string_view text = problem.what;
  const std::string place = problem.where + ": ";
  if (text.starts_with(place)) {
    text.remove_prefix(place.size());
  }
  return text;
}

Selection select_arrays(const Catalog& catalog, std::span<const std::string> globs) {
  return select(catalog, globs, [&](const std::string& glob, ItemId array) {
    return fits(glob, catalog.key(array));
  });
}

Selection select_by_name(const Catalog& catalog, std::span<const std::string> names) {
  return select(catalog, names, [&](const std::string& name, ItemId array) {
    return fits(name, catalog.key(array)) || is_path_of(catalog, array, name);
  });
}

Inode find_file(const Tree& tree, const std::string& path) {
  Inode at = Tree::kRoot;
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (name.empty() || name == ".") {
      continue;
    }
    if (!tree.attributes(at).is_directory) {
      throw_error(ENOTDIR, path + ": " + tree.path(at) + " is a file, not a directory");
    }
    const auto next = tree.lookup(at, name);
    if (!next) {
      throw_no_file(tree, path, at, name);
    }
    at = *next;
  }
  if (at == Tree::kRoot || tree.attributes(at).is_directory) {
    throw_error(EISDIR, path + ": a directory; its files can be had one by one");
  }
  return at;
}

}  // namespace npyfs
