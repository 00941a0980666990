// numpy.dtype objects in a pickle.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "npyfs/format/dtype.h"
#include "npyfs/format/pickle.h"

namespace npyfs {

// Remembers the types it read, since arrays of a pickle share few. Borrows the pickle.
class PickledDtypes {
 public:
  explicit PickledDtypes(const Pickle& pickle) : pickle_(pickle) {}

  // Throws Error (EIO) if the value isn't a dtype that can be told, with what is odd about it.
  std::shared_ptr<const Dtype> read(PickleId id);

 private:
  struct Known {
    std::shared_ptr<const Dtype> dtype;
    Shape shape;             // of a sub-array type, else empty
    std::size_t fields = 0;  // with those of nested types
  };
  using ByName = std::unordered_map<std::string_view, PickleId>;

  Known read(PickleId id, std::size_t depth);
  Known make(PickleId id, std::size_t depth);
  Known make_struct(std::span<const PickleId> state, std::size_t depth);
  Known make_subarray(PickleId subarray, std::size_t depth);
  Field read_field(std::string_view name, PickleId description, std::size_t depth,
                   std::size_t& fields);
  Dtype simple_type(PickleId type, std::span<const PickleId> state) const;
  std::string unit_of(std::span<const PickleId> state) const;
  ByName by_name(PickleId dict) const;
  std::uint64_t size_of(PickleId integer) const;

  const Pickle& pickle_;
  std::unordered_map<PickleId, Known> known_;
};

// The lengths in a tuple or list of integers, or a lone integer. Throws Error (EIO) for anything
// else.
Shape pickled_shape(const Pickle& pickle, PickleId id);

}  // namespace npyfs
