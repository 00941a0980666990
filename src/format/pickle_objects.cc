// The instructions of the pickle machine that make containers and objects, and those that fill
// them.
#include <array>
#include <string>
#include <string_view>

#include "format/pickle_faults.h"
#include "format/pickle_machine.h"

namespace npyfs {

bool PickleMachine::do_sequence(std::uint8_t code) {
  switch (code) {
    case ')':  // EMPTY_TUPLE
      push(builder_.tuple({}));
      return true;
    case 0x85:  // TUPLE1
    case 0x86:  // TUPLE2
    case 0x87:  // TUPLE3
      push_tuple(code - 0x84U);
      return true;
    case 't':  // TUPLE
      push(builder_.tuple(pop_to_mark()));
      return true;
    case ']':  // EMPTY_LIST
      push(builder_.container(PickleKind::kList));
      return true;
    case 'l':     // LIST
    case 0x91: {  // FROZENSET
      const auto items = pop_to_mark();
      const PickleId id =
          builder_.container(code == 'l' ? PickleKind::kList : PickleKind::kFrozenSet);
      builder_.append(id, items);
      push(id);
      return true;
    }
    case 'a': {  // APPEND
      const std::array<PickleId, 1> item = {pop()};
      append(item);
      return true;
    }
    case 'e':  // APPENDS
      append(pop_to_mark());
      return true;
    case 0x8F:  // EMPTY_SET
      push(builder_.container(PickleKind::kSet));
      return true;
    case 0x90:  // ADDITEMS
      add_to_set(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::do_mapping(std::uint8_t code) {
  switch (code) {
    case '}':  // EMPTY_DICT
      push(builder_.container(PickleKind::kDict));
      return true;
    case 'd': {  // DICT
      const auto items = pop_to_mark();
      push(builder_.container(PickleKind::kDict));
      set_items(items);
      return true;
    }
    case 's': {  // SETITEM
      const PickleId value = pop();
      const std::array<PickleId, 2> item = {pop(), value};
      set_items(item);
      return true;
    }
    case 'u':  // SETITEMS
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

void PickleMachine::append(std::span<const PickleId> items) {
  const PickleId to = top();
  if (builder_.so_far().kind(to) == PickleKind::kList) {
    builder_.append(to, items);
  } else {
    add_list_items(to, items);
  }
}

void PickleMachine::add_to_set(std::span<const PickleId> items) {
  const PickleId to = top();
  if (builder_.so_far().kind(to) == PickleKind::kSet) {
    builder_.append(to, items);
  } else {
    add_list_items(to, items);
  }
}

// To an object that isn't a list or set of Python's own.
void PickleMachine::add_list_items(PickleId object, std::span<const PickleId> items) {
  if (builder_.so_far().kind(object) != PickleKind::kCall) {
    throw_broken_pickle("items for a value that takes none");
  }
  if (builder_.call_of(object).list_items == kNoPickle) {
    const PickleId list = builder_.container(PickleKind::kList);
    builder_.call_of(object).list_items = list;
  }
  builder_.append(builder_.call_of(object).list_items, items);
}

void PickleMachine::set_items(std::span<const PickleId> items) {
  const PickleId to = top();
  if (items.size() % 2 != 0) {
    throw_broken_pickle("a key without a value");
  }
  if (builder_.so_far().kind(to) == PickleKind::kDict) {
    builder_.append(to, items);
    return;
  }
  if (builder_.so_far().kind(to) != PickleKind::kCall) {
    throw_broken_pickle("keys for a value that takes none");
  }
  if (builder_.call_of(to).dict_items == kNoPickle) {
    const PickleId dict = builder_.container(PickleKind::kDict);
    builder_.call_of(to).dict_items = dict;
  }
  builder_.append(builder_.call_of(to).dict_items, items);
}

bool PickleMachine::do_object(std::uint8_t code) {
  switch (code) {
    case 'c':  // GLOBAL
      push(read_global());
      return true;
    case 0x93: {  // STACK_GLOBAL
      const PickleId name = pop();
      push_global(pop(), name);
      return true;
    }
    case 'P': {  // PERSID
      const PickleRange range = {input_.at(), 0, ByteForm::kUtf8};
      const std::string_view text = input_.line();
      const PickleRange all = {range.offset, text.size(), range.form};
      push(builder_.persistent(builder_.string(PickleKind::kText, all, text)));
      return true;
    }
    case 'Q':  // BINPERSID
      push(builder_.persistent(pop()));
      return true;
    case 'R':     // REDUCE
    case 0x81: {  // NEWOBJ
      const PickleId arguments = pop();
      push(builder_.call({.callable = pop(), .arguments = arguments}));
      return true;
    }
    case 0x92: {  // NEWOBJ_EX
      const PickleId keywords = pop();
      const PickleId arguments = pop();
      push(builder_.call({.callable = pop(), .arguments = arguments, .keywords = keywords}));
      return true;
    }
    case 'i': {  // INST
      const PickleId callable = read_global();
      push(builder_.call({.callable = callable, .arguments = builder_.tuple(pop_to_mark())}));
      return true;
    }
    case 'o': {  // OBJ
      const auto items = pop_to_mark();
      if (items.empty()) {
        throw_broken_pickle("an object without a class");
      }
      const PickleId callable = items.front();
      push(builder_.call({.callable = callable, .arguments = builder_.tuple(items.subspan(1))}));
      return true;
    }
    case 'b':  // BUILD
      build();
      return true;
    default:
      return false;
  }
}

PickleId PickleMachine::read_global() {
  const std::string module(input_.line());
  return builder_.global(module, input_.line());
}

void PickleMachine::push_global(PickleId module, PickleId name) {
  const Pickle& pickle = builder_.so_far();
  const auto is_name = [&](PickleId id) {
    const PickleKind kind = pickle.kind(id);
    return (kind == PickleKind::kText || kind == PickleKind::kByteString) && pickle.text(id);
  };
  if (!is_name(module) || !is_name(name)) {
    throw_broken_pickle("a global's name that is no text, or too long");
  }
  const std::string module_text(*pickle.text(module));
  const std::string name_text(*pickle.text(name));
  push(builder_.global(module_text, name_text));
}

void PickleMachine::build() {
  const PickleId state = pop();
  const Pickle& pickle = builder_.so_far();
  const bool is_call = pickle.kind(top()) == PickleKind::kCall;
  if (is_call &&
      pickle.is_global(pickle.call(top()).callable, "joblib.numpy_pickle", "NumpyArrayWrapper")) {
    throw_unsupported(
        "joblib's bytes of an array follow, which are no part of a pickle; load the file with "
        "joblib and write it with pickle.dump");
  }
  // Python would set attributes of other values too; none of these can be a part of what we show.
  if (is_call) {
    builder_.call_of(top()).state = state;
  }
}

}  // namespace npyfs
