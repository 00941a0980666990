// A Store of Sources that a test has at hand.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "npyfs/base/error.h"
#include "npyfs/format/array_info.h"
#include "npyfs/format/store.h"

namespace npyfs {

class MemoryStore final : public Store {
 public:
  std::uint32_t add(std::string key, SourcePtr source) {
    items_.emplace_back(std::move(key), std::move(source));
    return static_cast<std::uint32_t>(items_.size() - 1);
  }

  std::string key(std::uint32_t index) const override { return items_[index].first; }
  std::uint64_t size(std::uint32_t index) const override { return items_[index].second->size(); }
  SourcePtr open(std::uint32_t index) const override { return items_[index].second; }
  void check(std::uint32_t) const override {}
  std::int64_t mtime_ns(std::uint32_t) const override { return 1'000'000'001; }
  Origin origin(std::uint32_t index) const override {
    Origin origin;
    origin.file = "memory";
    origin.format = "npy";
    origin.offset = 0;
    origin.compression = "stored";
    origin.stored_bytes = size(index);
    return origin;
  }

 private:
  std::vector<std::pair<std::string, SourcePtr>> items_;
};

// What the image in `source` is.
inline std::shared_ptr<const ArrayInfo> info_of_image(const Source& source) {
  const auto bytes = read_bytes(source, 0, source.size());
  return std::make_shared<const ArrayInfo>(describe_image(bytes, source.size()));
}

}  // namespace npyfs
