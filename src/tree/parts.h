// A file of several .npy images one after another: what np.save leaves in a handle that it is
// called on more than once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npyfs/format/array_info.h"
#include "npyfs/format/store.h"

namespace npyfs {

// Items 0 … count()-1 are the images; item count() is the data of all of them, if they fit
// together.
class Parts final : public Store {
 public:
  static constexpr std::uint32_t kMost = 100'000;

  // Looks for images in item `index` of `store`, which must outlive the result; one read at each
  // end of data. Null if there is only one, or the item isn't stored as it is. `key` is the item's.
  static std::unique_ptr<const Parts> find(const Store& store, std::uint32_t index,
                                           std::string key);

  std::uint32_t count() const { return static_cast<std::uint32_t>(parts_.size()); }
  const std::shared_ptr<const ArrayInfo>& info(std::uint32_t index) const {
    return parts_[index].info;
  }

  // All of them as one array: null unless dtype, order and trailing shape agree, or if there are
  // more than kMost.
  std::shared_ptr<const ArrayInfo> concat_info() const;

  std::string key(std::uint32_t index) const override;
  std::uint64_t size(std::uint32_t index) const override;
  SourcePtr open(std::uint32_t index) const override;
  void check(std::uint32_t) const override { store_.check(index_); }
  Origin origin(std::uint32_t index) const override;
  std::optional<std::uint64_t> member_id(std::uint32_t) const override {
    return store_.member_id(index_);
  }
  std::int64_t mtime_ns(std::uint32_t) const override { return store_.mtime_ns(index_); }

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::shared_ptr<const ArrayInfo> info;
  };

  Parts(const Store& store, std::uint32_t index, std::string key)
      : store_(store), index_(index), key_(std::move(key)) {}

  const Store& store_;
  std::uint32_t index_;
  std::string key_;
  std::vector<Part> parts_;
  bool too_many_ = false;
};

}  // namespace npyfs
