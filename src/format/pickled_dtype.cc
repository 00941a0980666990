// A dtype is pickled as a call, dtype('f4', False, True), and a state that says the rest: (version,
// byte order, sub-array, field names, fields, item size, alignment, flags), from version 4 on with
// metadata, which for M8 and m8 has the unit (arraydescr_reduce in numpy/_core/src/multiarray).
#include "format/pickled_dtype.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "npyfs/base/error.h"

#include "format/pickled_bytes.h"

namespace npyfs {
namespace {

constexpr std::size_t kByteOrder = 1;
constexpr std::size_t kSubarray = 2;
constexpr std::size_t kNames = 3;
constexpr std::size_t kFields = 4;
constexpr std::size_t kItemsize = 5;
constexpr std::size_t kMetadata = 8;

}  // namespace

Shape pickled_shape(const Pickle& pickle, PickleId id) {
  const auto length = [&](PickleId item) {
    if (pickle.kind(item) != PickleKind::kInteger || pickle.integer(item) < 0) {
      throw_corrupt("a shape with something that is no length");
    }
    return static_cast<std::uint64_t>(pickle.integer(item));
  };
  Shape shape;
  const PickleKind kind = pickle.kind(id);
  if (kind != PickleKind::kTuple && kind != PickleKind::kList) {
    shape.push_back(length(id));
    return shape;
  }
  if (pickle.items(id).size() > kMaxDimensions) {
    throw_corrupt("a shape of ", pickle.items(id).size(), " axes; NumPy has at most ",
                  kMaxDimensions);
  }
  for (const PickleId item : pickle.items(id)) {
    shape.push_back(length(item));
  }
  return shape;
}

std::shared_ptr<const Dtype> PickledDtypes::read(PickleId id) {
  const Known known = read(id, 0);
  if (!known.shape.empty()) {
    throw_corrupt("an array whose type is itself an array");
  }
  return known.dtype;
}

PickledDtypes::Known PickledDtypes::read(PickleId id, std::size_t depth) {
  if (const auto found = known_.find(id); found != known_.end()) {
    return found->second;
  }
  if (depth == kMaxDtypeDepth) {
    throw_corrupt("a type nested more than ", kMaxDtypeDepth, " deep");
  }
  Known known = make(id, depth);
  known_.emplace(id, known);
  return known;
}

PickledDtypes::Known PickledDtypes::make(PickleId id, std::size_t depth) {
  if (pickle_.kind(id) != PickleKind::kCall ||
      !pickle_.is_global(pickle_.call(id).callable, "numpy", "dtype")) {
    throw_corrupt("a type that is no numpy.dtype");
  }
  const PickleCall& call = pickle_.call(id);
  if (pickle_.kind(call.arguments) != PickleKind::kTuple || pickle_.items(call.arguments).empty()) {
    throw_corrupt("a numpy.dtype of nothing");
  }
  std::span<const PickleId> state;
  if (call.state != kNoPickle && pickle_.kind(call.state) == PickleKind::kTuple) {
    state = pickle_.items(call.state);
  }
  const auto says = [&](std::size_t i) {
    return state.size() > i && pickle_.kind(state[i]) != PickleKind::kNone;
  };
  if (says(kSubarray)) {
    return make_subarray(state[kSubarray], depth);
  }
  if (says(kNames) && state.size() > kItemsize) {
    return make_struct(state, depth);
  }
  const PickleId type = pickle_.items(call.arguments).front();
  return {std::make_shared<const Dtype>(simple_type(type, state)), {}, 0};
}

Dtype PickledDtypes::simple_type(PickleId type, std::span<const PickleId> state) const {
  std::string order;
  if (state.size() > kByteOrder) {
    order = pickle_.text(state[kByteOrder]).value_or("");
  }
  if (pickle_.kind(type) == PickleKind::kGlobal) {
    const std::string name(pickle_.name(type));
    if (!element_type_named(name)) {
      return parse_type(name);  // numpy.float32 and the like
    }
    const Dtype element = parse_type(name);
    return order == ">" ? with_type(parse_descr(">V" + std::to_string(element.itemsize)), name)
                        : element;
  }
  std::string text(pickle_.text(type).value_or(""));
  if (text.starts_with('O') || text.starts_with("|O")) {
    return parse_descr("|O");
  }
  if (text.starts_with('M') || text.starts_with('m')) {
    text += unit_of(state);
  }
  const bool has_order =
      !text.empty() && std::string_view("<>=|").find(text.front()) != std::string_view::npos;
  return parse_type(has_order || order.empty() ? text : order + text);
}

std::string PickledDtypes::unit_of(std::span<const PickleId> state) const {
  // (metadata, (unit, multiple, denominator, event))
  if (state.size() <= kMetadata || pickle_.kind(state[kMetadata]) != PickleKind::kTuple) {
    return {};
  }
  const auto metadata = pickle_.items(state[kMetadata]);
  if (metadata.size() != 2 || pickle_.kind(metadata[1]) != PickleKind::kTuple) {
    return {};
  }
  const auto unit = pickle_.items(metadata[1]);
  if (unit.size() < 2 || pickle_.kind(unit[1]) != PickleKind::kInteger) {
    throw_corrupt("a unit of time that can't be told");
  }
  const std::string name = pickle_.kind(unit[0]) == PickleKind::kText
                               ? std::string(pickle_.text(unit[0]).value_or(""))
                               : short_bytes(pickle_, unit[0]).value_or("");
  if (name == "generic") {
    return {};
  }
  const std::int64_t multiple = pickle_.integer(unit[1]);
  return "[" + (multiple == 1 ? "" : std::to_string(multiple)) + name + "]";
}

PickledDtypes::Known PickledDtypes::make_subarray(PickleId subarray, std::size_t depth) {
  const bool is_pair =
      pickle_.kind(subarray) == PickleKind::kTuple && pickle_.items(subarray).size() == 2;
  if (!is_pair) {
    throw_corrupt("a sub-array type that can't be told");
  }
  const auto pair = pickle_.items(subarray);
  Known known = read(pair[0], depth + 1);
  Shape shape = pickled_shape(pickle_, pair[1]);
  shape.insert(shape.end(), known.shape.begin(), known.shape.end());
  known.shape = std::move(shape);
  return known;
}

// What a dict of fields has under each key that is a text; of two equal ones the last counts.
PickledDtypes::ByName PickledDtypes::by_name(PickleId dict) const {
  ByName values;
  const auto items = pickle_.items(dict);
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (const auto name = pickle_.text(items[i])) {
      values.insert_or_assign(*name, items[i + 1]);
    }
  }
  return values;
}

std::uint64_t PickledDtypes::size_of(PickleId integer) const {
  if (pickle_.kind(integer) != PickleKind::kInteger || pickle_.integer(integer) < 0) {
    throw_corrupt("an item size or offset that is no size");
  }
  return static_cast<std::uint64_t>(pickle_.integer(integer));
}

Field PickledDtypes::read_field(std::string_view name, PickleId description, std::size_t depth,
                                std::size_t& fields) {
  if (pickle_.kind(description) != PickleKind::kTuple || pickle_.items(description).size() < 2) {
    throw_corrupt("a field that can't be told");
  }
  const auto parts = pickle_.items(description);
  Known known = read(parts[0], depth + 1);
  fields += 1 + known.fields;
  if (fields > kMaxFields) {
    throw_corrupt("a type of more than ", kMaxFields, " fields");
  }
  Field field;
  field.name = name;
  field.dtype = *known.dtype;
  field.shape = std::move(known.shape);
  field.offset = size_of(parts[1]);
  if (parts.size() > 2 && pickle_.kind(parts[2]) != PickleKind::kNone) {
    field.title = std::string(pickle_.text(parts[2]).value_or(""));
  }
  return field;
}

PickledDtypes::Known PickledDtypes::make_struct(std::span<const PickleId> state,
                                                std::size_t depth) {
  if (pickle_.kind(state[kNames]) != PickleKind::kTuple ||
      pickle_.kind(state[kFields]) != PickleKind::kDict) {
    throw_corrupt("fields that can't be told");
  }
  const auto names = pickle_.items(state[kNames]);
  if (names.size() > kMaxFields) {
    throw_corrupt("a type of ", names.size(), " fields");
  }
  Known known;
  std::vector<Field> fields;
  const ByName descriptions = by_name(state[kFields]);
  for (const PickleId name : names) {
    const auto text = pickle_.text(name);
    const auto found = text ? descriptions.find(*text) : descriptions.end();
    if (found == descriptions.end()) {
      throw_corrupt("a field that isn't described");
    }
    fields.push_back(read_field(*text, found->second, depth, known.fields));
  }
  std::ranges::stable_sort(fields, {}, &Field::offset);
  Dtype dtype;
  dtype.kind = DtypeKind::kStruct;
  dtype.itemsize = size_of(state[kItemsize]);
  auto all = std::make_shared<std::vector<Field>>();
  std::uint64_t end = 0;
  const auto pad = [&](std::uint64_t to) {
    if (to < end) {
      throw_corrupt("fields that overlap, or run past the item's ", dtype.itemsize, " bytes");
    }
    if (to > end) {
      Field gap;
      gap.dtype = parse_descr("|V" + std::to_string(to - end));
      gap.offset = end;
      gap.padding = true;
      all->push_back(std::move(gap));
    }
  };
  for (Field& field : fields) {
    pad(field.offset);
    const auto field_end = checked_add(field.offset, data_bytes(field.shape, field.dtype.itemsize));
    end = field_end.value_or(UINT64_MAX);
    dtype.has_objects = dtype.has_objects || field.dtype.has_objects;
    all->push_back(std::move(field));
  }
  pad(dtype.itemsize);
  dtype.fields = std::move(all);
  known.dtype = std::make_shared<const Dtype>(std::move(dtype));
  return known;
}

}  // namespace npyfs
