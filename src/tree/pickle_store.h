// The arrays inside a pickle, as items. The pickle is a file, or the data of an array of objects.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "npyfs/format/array_info.h"
#include "npyfs/format/pickled_arrays.h"
#include "npyfs/format/store.h"

namespace npyfs {

class PickleStore final : public Store {
 public:
  // Reads the pickle at `offset` of item `index` of `store`, which must outlive the result. `key`
  // is what stands before the arrays' own paths; `cache` is for arrays whose axes are stored in
  // another order. Throws Error if it is no pickle, or beyond the limits.
  static std::unique_ptr<const PickleStore> read(const Store& store, std::uint32_t index,
                                                 std::uint64_t offset, std::string key,
                                                 std::shared_ptr<BlockCache> cache);

  std::uint32_t count() const { return static_cast<std::uint32_t>(found_.arrays.size()); }
  const std::vector<std::string>& notes() const { return found_.notes; }

  // Where the array stands in the pickled object, '/' between the steps; "" if it is the object.
  std::string path(std::uint32_t index) const;

  // What is known of arrays, by type, shape and order, which is all that it depends on.
  using Infos = std::map<std::tuple<std::shared_ptr<const Dtype>, Shape, bool>,
                         std::shared_ptr<const ArrayInfo>>;
  // Of one array; arrays that are alike share it through `known`.
  std::shared_ptr<const ArrayInfo> info(std::uint32_t index, Infos& known) const;

  std::string key(std::uint32_t index) const override;
  std::uint64_t size(std::uint32_t index) const override { return found_.arrays[index].nbytes; }
  SourcePtr open(std::uint32_t index) const override;
  void check(std::uint32_t) const override { store_.check(index_); }
  Origin origin(std::uint32_t index) const override;
  std::optional<std::uint64_t> member_id(std::uint32_t) const override {
    return store_.member_id(index_);
  }
  std::int64_t mtime_ns(std::uint32_t) const override { return store_.mtime_ns(index_); }

 private:
  PickleStore(const Store& store, std::uint32_t index, std::string key,
              std::shared_ptr<BlockCache> cache)
      : store_(store), index_(index), key_(std::move(key)), cache_(std::move(cache)) {}

  const Store& store_;
  std::uint32_t index_;
  std::string key_;
  std::shared_ptr<BlockCache> cache_;
  PickledArrays found_;
  std::uint64_t first_object_ = 0;  // that each array would be in the cache, with its axes in order
};

}  // namespace npyfs
