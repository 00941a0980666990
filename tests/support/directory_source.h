// A fixture for directories as sources: files are written below `dir_`, then it is loaded.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/loaded_tree.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {

// What git LFS leaves in place of a file.
inline constexpr std::string_view kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123456\n";

inline std::vector<std::byte> floats(std::uint64_t count) {
  return npy_image("'<f4'", {count}, counting_bytes(4 * count));
}

inline std::string text(const std::vector<std::byte>& bytes) {
  return std::string(text_view(bytes));
}

class LoadDirectoryTest : public testing::Test {
 protected:
  std::string write(std::string_view name, const std::vector<std::byte>& bytes) {
    return dir_.write(name, bytes);
  }
  std::string write(std::string_view name, std::string_view content) {
    return dir_.write(name, bytes_of(content));
  }
  void link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, dir_.path(name));
  }
  LoadedTree load(const LoadOptions& options = {}) { return LoadedTree(dir_.path(), options); }

  static nlohmann::json meta(const LoadedTree& tree, const std::string& path) {
    return nlohmann::json::parse(tree.text(path + ".meta.json"));
  }
  // Where there are problems, each with its errno.
  static std::vector<std::string> places(const LoadedTree& tree) {
    std::vector<std::string> places;
    for (const Problem& problem : tree.problems()) {
      places.push_back(problem.where + " " + errno_name(problem.errno_value));
    }
    return places;
  }

  TempDir dir_;
};

}  // namespace npyfs
