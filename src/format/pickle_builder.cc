#include "format/pickle_builder.h"

#include <bit>
#include <cstring>
#include <utility>

#include "format/pickle_faults.h"

namespace npyfs {

PickleBuilder::PickleBuilder() {
  add({});
  add({.kind = PickleKind::kBool, .first = 0});
  add({.kind = PickleKind::kBool, .first = 1});
  add({.kind = PickleKind::kTuple});
  small_integers_.fill(kNoPickle);
}

PickleId PickleBuilder::add(const Value& value) {
  if (pickle_.values_.size() == Pickle::kMostValues) {
    throw_beyond_limit("more than ", Pickle::kMostValues, " values");
  }
  pickle_.values_.push_back(value);
  return static_cast<PickleId>(pickle_.values_.size() - 1);
}

std::uint32_t PickleBuilder::copy(std::string_view text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  if (text.size() + sizeof(length) > Pickle::kMostCopied - pickle_.copies_.size()) {
    throw_beyond_limit("more than ", Pickle::kMostCopied, " bytes of short strings");
  }
  const auto begin = static_cast<std::uint32_t>(pickle_.copies_.size());
  pickle_.copies_.append(text_view(std::as_bytes(std::span(&length, 1))));
  pickle_.copies_.append(text);
  return begin;
}

std::uint32_t PickleBuilder::add_items(std::span<const PickleId> items) {
  auto& all = pickle_.items_;
  if (items.size() > Pickle::kMostItems - all.size()) {
    throw_beyond_limit("more than ", Pickle::kMostItems, " items in containers");
  }
  all.insert(all.end(), items.begin(), items.end());
  return static_cast<std::uint32_t>(all.size() - items.size());
}

PickleId PickleBuilder::integer(std::int64_t value) {
  const Value integer = {.kind = PickleKind::kInteger, .first = static_cast<std::uint64_t>(value)};
  if (integer.first >= small_integers_.size()) {
    return add(integer);
  }
  PickleId& known = small_integers_[integer.first];
  if (known == kNoPickle) {
    known = add(integer);
  }
  return known;
}

PickleId PickleBuilder::big_integer(std::optional<std::string_view> decimal) {
  return add({.kind = PickleKind::kBigInteger, .text = decimal ? copy(*decimal) : Pickle::kNoCopy});
}

PickleId PickleBuilder::real(double value) {
  return add({.kind = PickleKind::kReal, .first = std::bit_cast<std::uint64_t>(value)});
}

PickleId PickleBuilder::string(PickleKind kind, const PickleRange& range,
                               std::optional<std::string_view> text) {
  return add({.kind = kind,
              .form = range.form,
              .text = text ? copy(*text) : Pickle::kNoCopy,
              .first = range.offset,
              .second = range.length});
}

PickleId PickleBuilder::tuple(std::span<const PickleId> items) {
  if (items.empty()) {
    return kEmptyTupleId;
  }
  return add({.kind = PickleKind::kTuple, .first = add_items(items), .second = items.size()});
}

PickleId PickleBuilder::container(PickleKind kind) {
  return add({.kind = kind, .first = kNoPart, .second = kNoPart});
}

PickleId PickleBuilder::global(std::string_view module, std::string_view name) {
  const std::uint32_t text = copy(module);
  return add({.kind = PickleKind::kGlobal, .text = text, .first = copy(name)});
}

PickleId PickleBuilder::persistent(PickleId id) {
  return add({.kind = PickleKind::kPersistent, .first = id});
}

PickleId PickleBuilder::call(const PickleCall& call) {
  const PickleId id = add({.kind = PickleKind::kCall, .first = pickle_.calls_.size()});
  pickle_.calls_.push_back(call);
  return id;
}

void PickleBuilder::append(PickleId container, std::span<const PickleId> items) {
  if (items.empty()) {
    return;
  }
  const std::uint32_t first = add_items(items);
  const auto count = static_cast<std::uint32_t>(items.size());
  Value& value = pickle_.values_[container];
  const auto last = static_cast<std::uint32_t>(value.second);
  if (last != kNoPart && parts_[last].first + parts_[last].count == first) {
    parts_[last].count += count;
    return;
  }
  const auto part = static_cast<std::uint32_t>(parts_.size());
  parts_.push_back({first, count, kNoPart});
  if (last == kNoPart) {
    value.first = part;
  } else {
    parts_[last].next = part;
  }
  value.second = part;
}

void PickleBuilder::join_parts(Value& container) {
  if (container.first == kNoPart) {
    container.first = 0;
    container.second = 0;
    return;
  }
  auto& items = pickle_.items_;
  const Part& only = parts_[container.first];
  if (only.next == kNoPart) {
    container.first = only.first;
    container.second = only.count;
    return;
  }
  // Every item is copied at most once here, so kMostItems bounds this too.
  const std::size_t begin = items.size();
  for (auto i = static_cast<std::uint32_t>(container.first); i != kNoPart; i = parts_[i].next) {
    const Part& part = parts_[i];
    for (std::uint32_t k = 0; k < part.count; ++k) {
      const PickleId item = items[part.first + k];
      items.push_back(item);
    }
  }
  container.first = begin;
  container.second = items.size() - begin;
}

Pickle PickleBuilder::finish(PickleId root, std::uint64_t end) && {
  for (Value& value : pickle_.values_) {
    switch (value.kind) {
      case PickleKind::kList:
      case PickleKind::kDict:
      case PickleKind::kSet:
      case PickleKind::kFrozenSet:
        join_parts(value);
        break;
      default:
        break;
    }
  }
  pickle_.root_ = root;
  pickle_.end_ = end;
  return std::move(pickle_);
}

}  // namespace npyfs
