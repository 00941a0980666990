// Puts a Pickle together: makes values within its limits and lets containers grow.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "npyfs/format/pickle.h"

namespace npyfs {

class PickleBuilder {
 public:
  PickleBuilder();

  const Pickle& so_far() const { return pickle_; }

  PickleId none() const { return kNoneId; }
  PickleId boolean(bool value) const { return value ? kTrueId : kFalseId; }
  PickleId integer(std::int64_t value);
  // nullopt: too long to be told.
  PickleId big_integer(std::optional<std::string_view> decimal);
  PickleId real(double value);
  // A string that lies at `range`; `text` is what it says, or nullopt if it is too long.
  PickleId string(PickleKind kind, const PickleRange& range, std::optional<std::string_view> text);
  PickleId tuple(std::span<const PickleId> items);
  // An empty list, dict, set or frozenset.
  PickleId container(PickleKind kind);
  PickleId global(std::string_view module, std::string_view name);
  PickleId persistent(PickleId id);
  PickleId call(const PickleCall& call);

  // Appends to a list, set, frozenset or dict.
  void append(PickleId container, std::span<const PickleId> items);
  PickleCall& call_of(PickleId id) { return pickle_.calls_[pickle_.values_[id].first]; }

  Pickle finish(PickleId root, std::uint64_t end) &&;

 private:
  using Value = Pickle::Value;
  // A part of a growing container: its items aren't all together until the end.
  struct Part {
    std::uint32_t first = 0;  // in items_
    std::uint32_t count = 0;
    std::uint32_t next = kNoPart;
  };
  static constexpr std::uint32_t kNoPart = ~std::uint32_t{0};
  static constexpr PickleId kNoneId = 0;
  static constexpr PickleId kFalseId = 1;
  static constexpr PickleId kTrueId = 2;
  static constexpr PickleId kEmptyTupleId = 3;

  PickleId add(const Value& value);
  std::uint32_t copy(std::string_view text);
  std::uint32_t add_items(std::span<const PickleId> items);
  void join_parts(Value& container);

  Pickle pickle_;
  // Of a growing container, `first` is its first part and `second` its last.
  std::vector<Part> parts_;
  std::array<PickleId, 256> small_integers_{};
};

}  // namespace npyfs
