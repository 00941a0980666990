// Files of a directory source, as items.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "npyfs/format/store.h"
#include "npyfs/source/file.h"

namespace npyfs {

class DiskStore final : public Store {
 public:
  // `ending` is the part of the path that isn't the key's: ".npy", ".raw", ".bin" or nothing.
  // `is_image`: the file is served as a .npy as it is.
  std::uint32_t add(std::shared_ptr<const File> file, std::string_view ending, bool is_image) {
    items_.push_back({std::move(file), static_cast<std::uint8_t>(ending.size()), is_image});
    return static_cast<std::uint32_t>(items_.size() - 1);
  }

  std::string key(std::uint32_t index) const override {
    const std::string& path = items_[index].file->path();
    return path.substr(0, path.size() - items_[index].ending);
  }
  std::uint64_t size(std::uint32_t index) const override { return items_[index].file->size(); }
  SourcePtr open(std::uint32_t index) const override { return items_[index].file; }
  void check(std::uint32_t index) const override { items_[index].file->check(); }
  Origin origin(std::uint32_t index) const override {
    const Item& item = items_[index];
    Origin origin;
    origin.file = item.file->path();
    origin.format = item.is_image ? "npy" : "raw";
    if (item.is_image) {
      origin.offset = 0;
    }
    origin.compression = "stored";
    origin.stored_bytes = item.file->size();
    return origin;
  }
  std::int64_t mtime_ns(std::uint32_t index) const override {
    return items_[index].file->identity().mtime_ns;
  }

 private:
  struct Item {
    std::shared_ptr<const File> file;
    std::uint8_t ending = 0;
    bool is_image = false;
  };
  std::vector<Item> items_;
};

}  // namespace npyfs
