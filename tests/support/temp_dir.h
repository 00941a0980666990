// A directory of the test's own, gone at its end, and files in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <stdlib.h>

#include "npyfs/base/bytes.h"

namespace npyfs {

class TempDir {
 public:
  TempDir() : path_((std::filesystem::temp_directory_path() / "npyfs-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("no temporary directory");
    }
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Writes a file, with the directories above it, and returns its path.
  std::string write(std::string_view name, Bytes bytes) const {
    const std::string file = path(name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text_view(bytes);
    if (!out.flush()) {
      throw std::runtime_error("can't write " + file);
    }
    return file;
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw std::runtime_error("can't read " + path);
  }
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace npyfs
