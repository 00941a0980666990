// The objects are walked from the root with a stack of our own. A container that was walked before
// isn't walked again: the memo lets a pickle of a few hundred bytes have more paths than atoms in
// the world. Arrays are shown at each place where they stand, since that costs one entry a mention.
#include "npyfs/format/pickled_arrays.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"
#include "npyfs/source/cancel.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/transpose.h"

#include "format/pickled_bytes.h"
#include "format/pickled_key.h"
#include "format/pickled_numpy.h"

namespace npyfs {
namespace {

// Some of what an object holds.
struct Group {
  std::span<const PickleId> items;
  bool pairs = false;  // keys and values in turn
  bool grid = false;   // elements of an object array, named by their index on each axis
  // Of the items, or in a grid of the items of each element that is a tuple of as many.
  std::span<const PickleId> names = {};
};

struct Frame {
  std::vector<Group> groups;
  Shape shape;            // of an object array
  std::size_t group = 0;  // where the walk is
  std::size_t item = 0;
  std::size_t path = 0;  // components of the object's own path
  PickleId id = kNoPickle;
  std::size_t said_before = 0;
};

enum class Seen : std::uint8_t { kNot, kWalked, kNothingInIt };

class Walk {
 public:
  explicit Walk(const Pickle& pickle) : pickle_(pickle), numpy_(pickle), seen_(pickle.count()) {}

  PickledArrays run() && {
    visit(pickle_.root());
    while (!frames_.empty() && !full_) {
      throw_if_cancelled();
      step();
    }
    if (notes_left_out_ > 0) {
      found_.notes.push_back(text_of(notes_left_out_, " more notes of this kind"));
    }
    return std::move(found_);
  }

 private:
  void step();
  void visit(PickleId id);
  void visit_call(PickleId id);
  bool visit_numpy(PickleId id);
  void enter(PickleId id, std::vector<Group> groups, Shape shape = {});
  void add_state(std::vector<Group>& groups, PickleId state) const;
  std::vector<Group> groups_of_call(const PickleCall& call) const;
  void emit(PickledArray array);
  void note(const std::string& what);
  // How much there is of arrays and notes.
  std::size_t said() const { return found_.arrays.size() + found_.notes.size() + notes_left_out_; }
  void name_grid(const Frame& frame);
  bool is_container(const PickleCall& call) const;
  bool is_maker(const PickleCall& call) const;
  std::string type_name(const PickleCall& call) const;
  bool is_any_of(PickleId callable,
                 std::span<const std::pair<std::string_view, std::string_view>> globals) const;

  const Pickle& pickle_;
  PickledNumpy numpy_;
  PickledArrays found_;
  std::vector<Seen> seen_;  // of each value
  std::vector<Frame> frames_;
  std::vector<std::string> path_;
  std::size_t path_bytes_ = 0;
  std::size_t notes_left_out_ = 0;
  bool full_ = false;
};

// One child of the innermost object.
void Walk::step() {
  Frame& frame = frames_.back();
  path_.resize(frame.path);
  if (frame.group == frame.groups.size()) {
    if (said() == frame.said_before) {
      seen_[frame.id] = Seen::kNothingInIt;
    }
    frames_.pop_back();
    return;
  }
  const Group& group = frame.groups[frame.group];
  const std::size_t width = group.pairs ? 2 : 1;
  if (frame.item + width > group.items.size()) {
    ++frame.group;
    frame.item = 0;
    return;
  }
  const PickleId child = group.items[frame.item + width - 1];
  if (group.grid) {
    name_grid(frame);
  } else if (group.pairs) {
    path_.push_back(pickled_key(pickle_, group.items[frame.item], frame.item / 2));
  } else if (!group.names.empty()) {
    path_.push_back(pickled_key(pickle_, group.names[frame.item], frame.item));
  } else {
    path_.push_back(std::to_string(frame.item));
  }
  frame.item += width;
  const bool has_fields = group.grid && !group.names.empty() &&
                          pickle_.kind(child) == PickleKind::kTuple &&
                          pickle_.items(child).size() == group.names.size();
  if (has_fields) {
    enter(child, {{.items = pickle_.items(child), .names = group.names}});
  } else {
    visit(child);
  }
}

void Walk::name_grid(const Frame& frame) {
  std::uint64_t rest = frame.item;
  for (std::size_t axis = frame.shape.size(); axis-- > 0;) {
    path_.push_back(std::to_string(rest % frame.shape[axis]));
    rest /= frame.shape[axis];
  }
  std::reverse(path_.begin() + static_cast<std::ptrdiff_t>(frame.path), path_.end());
}

void Walk::visit(PickleId id) {
  switch (pickle_.kind(id)) {
    case PickleKind::kTuple:
    case PickleKind::kList:
    case PickleKind::kSet:
    case PickleKind::kFrozenSet:
      enter(id, {{pickle_.items(id)}});
      break;
    case PickleKind::kDict:
      enter(id, {{pickle_.items(id), true}});
      break;
    case PickleKind::kPersistent:
      note("something kept outside the pickle; load it with what wrote it");
      break;
    case PickleKind::kCall:
      visit_call(id);
      break;
    default:
      break;  // a plain value
  }
}

void Walk::enter(PickleId id, std::vector<Group> groups, Shape shape) {
  std::erase_if(groups, [](const Group& group) { return group.items.empty(); });
  if (groups.empty() || seen_[id] == Seen::kNothingInIt) {
    return;
  }
  if (seen_[id] == Seen::kWalked) {
    note("also stands elsewhere, and is shown there");
  } else if (frames_.size() == PickledArrays::kDeepest) {
    note(text_of("lies more than ", PickledArrays::kDeepest, " objects deep; save it by itself"));
  } else {
    seen_[id] = Seen::kWalked;
    frames_.push_back({std::move(groups), std::move(shape), 0, 0, path_.size(), id, said()});
  }
}

void Walk::visit_call(PickleId id) {
  if (visit_numpy(id) || pickled_bytes(pickle_, id)) {
    return;
  }
  const PickleCall& call = pickle_.call(id);
  std::vector<Group> groups = groups_of_call(call);
  if (!is_container(call) && seen_[id] == Seen::kNot) {
    note("an object of " + type_name(call) +
         (groups.empty() ? "" : "; the arrays in it are shown"));
    seen_[id] = groups.empty() ? Seen::kNothingInIt : Seen::kNot;
  }
  enter(id, std::move(groups));
}

// False if the value is nothing of NumPy's.
bool Walk::visit_numpy(PickleId id) {
  try {
    auto value = numpy_.read(id);
    if (!value) {
      return false;
    }
    if (!value->note.empty()) {
      note(value->note);
    }
    if (value->elements == kNoPickle) {
      emit(std::move(value->array));
      if (value->mask) {
        path_.emplace_back("mask");
        emit(std::move(*value->mask));
      }
    } else {
      enter(id, {{.items = pickle_.items(value->elements), .grid = true, .names = value->names}},
            std::move(value->array.shape));
    }
  } catch (const Error& e) {
    note(text_of(e.what(), "; load it with Python and np.save it"));
  }
  return true;
}

bool Walk::is_any_of(PickleId callable,
                     std::span<const std::pair<std::string_view, std::string_view>> globals) const {
  return std::ranges::any_of(globals, [&](const auto& global) {
    return pickle_.is_global(callable, global.first, global.second);
  });
}

// What an object that isn't NumPy's holds: what was put into it, what was set on it, and if there
// is nothing of that, what it was made of.
std::vector<Group> Walk::groups_of_call(const PickleCall& call) const {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kMadeOfItems = {{
      {"builtins", "set"},
      {"builtins", "frozenset"},
      {"builtins", "list"},
      {"builtins", "tuple"},
      {"__builtin__", "set"},
      {"__builtin__", "frozenset"},
      {"collections", "deque"},
      {"collections", "Counter"},
  }};
  std::vector<Group> groups;
  if (call.dict_items != kNoPickle) {
    groups.push_back({pickle_.items(call.dict_items), true});
  }
  if (call.list_items != kNoPickle) {
    groups.push_back({pickle_.items(call.list_items)});
  }
  add_state(groups, call.state);
  if (!groups.empty() || pickle_.kind(call.arguments) != PickleKind::kTuple) {
    return groups;
  }
  const auto arguments = pickle_.items(call.arguments);
  const PickleKind first = arguments.empty() ? PickleKind::kNone : pickle_.kind(arguments[0]);
  if (is_any_of(call.callable, kMadeOfItems) &&
      (first == PickleKind::kList || first == PickleKind::kDict)) {
    groups.push_back({pickle_.items(arguments[0]), first == PickleKind::kDict});
    return groups;
  }
  if (is_maker(call) && arguments.size() == 3) {  // _reconstructor(class, base, what the base has)
    add_state(groups, arguments[2]);
    return groups;
  }
  const bool holds_something = std::ranges::any_of(arguments, [&](PickleId id) {
    const PickleKind kind = pickle_.kind(id);
    return kind == PickleKind::kCall || kind == PickleKind::kDict || kind == PickleKind::kList ||
           kind == PickleKind::kTuple;
  });
  if (holds_something) {
    groups.push_back({arguments});
  }
  return groups;
}

// A dict of attributes, or (dict of attributes, dict of slots), or whatever the class made of it.
void Walk::add_state(std::vector<Group>& groups, PickleId state) const {
  if (state == kNoPickle) {
    return;
  }
  const PickleKind kind = pickle_.kind(state);
  if (kind == PickleKind::kDict) {
    groups.push_back({pickle_.items(state), true});
    return;
  }
  if (kind != PickleKind::kTuple && kind != PickleKind::kList) {
    return;
  }
  const auto items = pickle_.items(state);
  const auto is_dict_or_none = [&](PickleId id) {
    return pickle_.kind(id) == PickleKind::kDict || pickle_.kind(id) == PickleKind::kNone;
  };
  if (items.size() != 2 || !is_dict_or_none(items[0]) || !is_dict_or_none(items[1])) {
    groups.push_back({items});
    return;
  }
  for (const PickleId part : items) {
    if (pickle_.kind(part) == PickleKind::kDict) {
      groups.push_back({pickle_.items(part), true});
    }
  }
}

// Whether it is one of Python's own, which a path through it says enough of.
bool Walk::is_container(const PickleCall& call) const {
  static constexpr std::array<std::string_view, 8> kBuiltins = {
      "bytearray", "complex", "dict", "frozenset", "list", "range", "set", "tuple"};
  static constexpr std::array<std::string_view, 4> kCollections = {"Counter", "OrderedDict",
                                                                   "defaultdict", "deque"};
  if (pickle_.kind(call.callable) != PickleKind::kGlobal) {
    return false;
  }
  const std::string_view module = pickle_.module(call.callable);
  const std::string_view name = pickle_.name(call.callable);
  if (module == "builtins" || module == "__builtin__") {
    return std::ranges::find(kBuiltins, name) != kBuiltins.end();
  }
  return module == "collections" && std::ranges::find(kCollections, name) != kCollections.end();
}

// Whether one of Python's own functions makes the object: `copyreg._reconstructor(class, …)`.
bool Walk::is_maker(const PickleCall& call) const {
  return pickle_.kind(call.callable) == PickleKind::kGlobal &&
         (pickle_.module(call.callable) == "copyreg" ||
          pickle_.module(call.callable) == "copy_reg") &&
         pickle_.kind(call.arguments) == PickleKind::kTuple &&
         !pickle_.items(call.arguments).empty();
}

std::string Walk::type_name(const PickleCall& call) const {
  const PickleId type = is_maker(call) ? pickle_.items(call.arguments).front() : call.callable;
  if (pickle_.kind(type) != PickleKind::kGlobal) {
    return "a type that isn't named";
  }
  return std::string(pickle_.module(type)) + "." + std::string(pickle_.name(type));
}

void Walk::emit(PickledArray array) {
  std::size_t bytes = 0;
  for (const std::string& component : path_) {
    bytes += component.size() + sizeof(std::string);
  }
  if (found_.arrays.size() == PickledArrays::kMostArrays ||
      bytes > PickledArrays::kMostPathBytes - path_bytes_) {
    note(text_of("what comes from here on is beyond ", PickledArrays::kMostArrays, " arrays or ",
                 PickledArrays::kMostPathBytes, " bytes of paths; save the arrays with np.savez"));
    full_ = true;
    return;
  }
  path_bytes_ += bytes;
  array.path = path_;
  found_.arrays.push_back(std::move(array));
}

void Walk::note(const std::string& what) {
  constexpr std::size_t kLongestPath = 500;
  if (found_.notes.size() == PickledArrays::kMostNotes && !full_) {
    ++notes_left_out_;
    return;
  }
  std::string text;
  for (const std::string& component : path_) {
    text += text.empty() ? "" : "/";
    text += component;
    if (text.size() > kLongestPath) {
      text.resize(kLongestPath);
      text += "…";
      break;
    }
  }
  text += text.empty() ? "" : ": ";
  found_.notes.push_back(escape_invalid_utf8(text + what));
}

}  // namespace

PickledArrays find_arrays(const Pickle& pickle) { return Walk(pickle).run(); }

SourcePtr array_data(const PickledArray& array, const SourcePtr& source,
                     std::shared_ptr<BlockCache> cache, std::uint64_t object) {
  SourcePtr data =
      byte_text(slice(source, array.data.offset, array.data.length), array.data.form, array.nbytes);
  if (array.axes.empty()) {
    return data;
  }
  return c_order(std::move(data), array.shape, array.axes, array.dtype->itemsize, std::move(cache),
                 object);
}

}  // namespace npyfs
