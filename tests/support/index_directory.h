// A directory of kept restart points of the test's own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/source/restart_store.h"

#include "support/temp_dir.h"

namespace npyfs {

class IndexDirectory {
 public:
  std::shared_ptr<const RestartStore> store(std::uint64_t most = RestartStore::kMostBytes) {
    return std::make_shared<const RestartStore>(
        dir_.path("index"),
        [this](const std::string& text) {
          const std::lock_guard lock(mutex_);
          reports_.push_back(text);
        },
        most);
  }

  // Paths of what is in it.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path("index"))) {
      found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
  }

  // Of all its stores.
  std::vector<std::string> reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }

  const TempDir& dir() const { return dir_; }

 private:
  const TempDir dir_;
  mutable std::mutex mutex_;  // guards reports_
  std::vector<std::string> reports_;
};

inline void overwrite(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace npyfs
