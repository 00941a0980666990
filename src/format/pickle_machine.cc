// Instructions are grouped by what they do; their names are Python's (pickletools has a sentence on
// each). What is left out on purpose: EXT1 to EXT4 need a registry of the process that unpickles,
// NEXT_BUFFER and READONLY_BUFFER bytes that were sent beside the pickle.
#include "format/pickle_machine.h"

#include <array>
#include <charconv>
#include <utility>

#include "npyfs/source/cancel.h"

#include "format/pickle_faults.h"
#include "format/pickle_number.h"
#include "format/python_literal.h"

namespace npyfs {
namespace {

constexpr std::uint8_t kProto = 0x80;
constexpr std::uint8_t kStop = '.';
constexpr std::uint8_t kHighestProtocol = 5;
// A decimal text takes time quadratic in the length; nobody counts further.
constexpr std::uint64_t kLongestBigInteger = 256;
constexpr unsigned kBetweenQuestions = 4096;  // instructions

std::string instruction_text(std::uint8_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (code > ' ' && code < 0x7F) {
    return {'\'', static_cast<char>(code), '\''};
  }
  return {'0', 'x', kHex[code >> 4], kHex[code & 0xF]};
}

}  // namespace

Pickle PickleMachine::run() && {
  for (unsigned done = 1;; ++done) {
    if (done % kBetweenQuestions == 0) {
      throw_if_cancelled();
    }
    const std::uint64_t at = input_.at();
    std::uint8_t code = 0;
    try {
      code = input_.u8();
      if (code == kStop) {
        const PickleId root = pop();
        return std::move(builder_).finish(root, input_.at());
      }
      const bool known = do_number(code) || do_string(code) || do_memo(code) || do_sequence(code) ||
                         do_mapping(code) || do_object(code) || do_stack(code);
      if (!known) {
        refuse(code);
      }
    } catch (const Error& e) {
      throw e.prefixed(text_of("pickle instruction ", instruction_text(code), " at ", at));
    }
  }
}

void PickleMachine::refuse(std::uint8_t code) {
  switch (code) {
    case 0x82:  // EXT1
    case 0x83:  // EXT2
    case 0x84:  // EXT4
      throw_beyond_limit("needs Python's extension registry");
    case 0x97:  // NEXT_BUFFER
    case 0x98:  // READONLY_BUFFER
      throw_unsupported(
          "needs a buffer that isn't in the pickle; write it with pickle.dump and no "
          "buffer_callback");
    default:
      throw_broken_pickle("no such instruction");
  }
}

bool PickleMachine::do_number(std::uint8_t code) {
  switch (code) {
    case 'N':
      push(builder_.none());
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push(builder_.boolean(code == 0x88));
      return true;
    case 'J':  // BININT
      push(builder_.integer(static_cast<std::int32_t>(input_.little_endian(4))));
      return true;
    case 'K':  // BININT1
    case 'M':  // BININT2
      push(builder_.integer(static_cast<std::int64_t>(input_.little_endian(code == 'K' ? 1 : 2))));
      return true;
    case 'I': {
      const std::string_view text = input_.line();
      if (text == "01" || text == "00") {
        push(builder_.boolean(text == "01"));
      } else {
        push_integer(text);
      }
      return true;
    }
    case 'L':  // LONG
      push_integer(input_.line());
      return true;
    case 0x8A:  // LONG1
    case 0x8B:  // LONG4
      push_long(input_.little_endian(code == 0x8A ? 1 : 4));
      return true;
    case 'F':
      push(builder_.real(parse_real(input_.line())));
      return true;
    case 'G':  // BINFLOAT
      push(builder_.real(big_endian_real(input_.take(8))));
      return true;
    default:
      return false;
  }
}

void PickleMachine::push_integer(std::string_view decimal) {
  if (decimal.ends_with('L')) {
    decimal.remove_suffix(1);
  }
  const std::string_view digits = decimal.substr(decimal.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    throw_broken_pickle("no integer in ", decimal.size(), " bytes");
  }
  std::int64_t value = 0;
  const auto result = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  push(result.ec == std::errc() ? builder_.integer(value) : builder_.big_integer(decimal));
}

void PickleMachine::push_long(std::uint64_t length) {
  if (length > kLongestBigInteger) {
    input_.pass(length);
    push(builder_.big_integer(std::nullopt));
    return;
  }
  const std::string decimal = decimal_of(input_.take(length));
  push_integer(decimal);
}

bool PickleMachine::do_string(std::uint8_t code) {
  switch (code) {
    case 'X':  // BINUNICODE
      push_string(PickleKind::kText, input_.little_endian(4));
      return true;
    case 0x8C:  // SHORT_BINUNICODE
      push_string(PickleKind::kText, input_.u8());
      return true;
    case 0x8D:  // BINUNICODE8
      push_string(PickleKind::kText, input_.little_endian(8));
      return true;
    case 'B':  // BINBYTES
      push_string(PickleKind::kBytes, input_.little_endian(4));
      return true;
    case 'C':  // SHORT_BINBYTES
      push_string(PickleKind::kBytes, input_.u8());
      return true;
    case 0x8E:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push_string(PickleKind::kBytes, input_.little_endian(8));
      return true;
    case 'T':  // BINSTRING
      push_string(PickleKind::kByteString, input_.little_endian(4));
      return true;
    case 'U':  // SHORT_BINSTRING
      push_string(PickleKind::kByteString, input_.u8());
      return true;
    case 'V':  // UNICODE
      push_line(PickleKind::kText, ByteForm::kUnicodeEscape);
      return true;
    case 'S':  // STRING
      push_line(PickleKind::kByteString, ByteForm::kStringEscape);
      return true;
    default:
      return false;
  }
}

// A string of `length` bytes that come next, as they are.
void PickleMachine::push_string(PickleKind kind, std::uint64_t length) {
  const ByteForm form = kind == PickleKind::kText ? ByteForm::kUtf8 : ByteForm::kRaw;
  const PickleRange range = {input_.at(), length, form};
  if (length > Pickle::kLongestCopy) {
    input_.pass(length);
    push(builder_.string(kind, range, std::nullopt));
  } else {
    push(builder_.string(kind, range, text_view(input_.take(length))));
  }
}

// A string that is the rest of the line, escaped, and in quotes if it is a byte string.
void PickleMachine::push_line(PickleKind kind, ByteForm form) {
  PickleRange range = {input_.at(), 0, form};
  const auto line = input_.short_line();  // nearly all are
  range.length = line ? line->size() : input_.pass_line();
  Bytes bytes = bytes_of(line.value_or(""));
  if (kind == PickleKind::kByteString) {
    const auto byte_at = [&](std::uint64_t i) {
      return line ? bytes[i] : read_bytes(source_, range.offset + i, 1).front();
    };
    if (range.length < 2 || byte_at(0) != byte_at(range.length - 1)) {
      throw_broken_pickle("a string without quotes");
    }
    range.offset += 1;
    range.length -= 2;
    bytes = line ? bytes.subspan(1, bytes.size() - 2) : bytes;
  }
  if (range.length > Pickle::kLongestCopy) {
    push(builder_.string(kind, range, std::nullopt));
  } else if (line) {
    push(builder_.string(kind, range, copy_of(range, bytes, kind)));
  } else {
    push(builder_.string(kind, range,
                         copy_of(range, read_bytes(source_, range.offset, range.length), kind)));
  }
}

// What the bytes of a range say.
std::string PickleMachine::copy_of(const PickleRange& range, Bytes bytes, PickleKind kind) {
  std::string copy;
  for (Bytes rest = bytes; !rest.empty();) {
    const auto character = next_character(rest, range.form);
    if (!character) {
      throw_broken_pickle("a broken escape in a string, at ",
                          range.offset + range.length - rest.size());
    }
    if (kind == PickleKind::kText) {
      append_utf8(copy, character->number);
    } else {
      copy.push_back(static_cast<char>(character->number));
    }
    rest = rest.subspan(character->length);
  }
  return copy;
}

bool PickleMachine::do_memo(std::uint8_t code) {
  switch (code) {
    case 'p':  // PUT
      put(memo_number());
      return true;
    case 'q':  // BINPUT
    case 'r':  // LONG_BINPUT
      put(input_.little_endian(code == 'q' ? 1 : 4));
      return true;
    case 0x94:  // MEMOIZE
      put(memo_count_);
      return true;
    case 'g':  // GET
      push(get(memo_number()));
      return true;
    case 'h':  // BINGET
    case 'j':  // LONG_BINGET
      push(get(input_.little_endian(code == 'h' ? 1 : 4)));
      return true;
    default:
      return false;
  }
}

std::uint64_t PickleMachine::memo_number() {
  const std::string_view text = input_.line();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || end != text.data() + text.size() || error != std::errc()) {
    throw_broken_pickle("no number of the memo");
  }
  return number;
}

void PickleMachine::put(std::uint64_t number) {
  if (number >= Pickle::kMostMemo) {
    throw_beyond_limit("memo number ", number, " is beyond ", Pickle::kMostMemo);
  }
  const PickleId id = top();
  if (number >= memo_.size()) {
    memo_.resize(number + 1, kNoPickle);
  }
  memo_count_ += memo_[number] == kNoPickle ? 1 : 0;
  memo_[number] = id;
}

PickleId PickleMachine::get(std::uint64_t number) const {
  if (number >= memo_.size() || memo_[number] == kNoPickle) {
    throw_broken_pickle("nothing at ", number, " of the memo");
  }
  return memo_[number];
}

bool PickleMachine::do_stack(std::uint8_t code) {
  switch (code) {
    case kProto:
      check_protocol();
      return true;
    case 0x95:  // FRAME
      input_.little_endian(8);
      return true;
    case '(':  // MARK
      if (marks_.size() == Pickle::kMostStack) {
        throw_beyond_limit("more than ", Pickle::kMostStack, " marks");
      }
      marks_.push_back(stack_.size());
      return true;
    case '0':  // POP
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
      } else {
        pop();
      }
      return true;
    case '1':  // POP_MARK
      pop_to_mark();
      return true;
    case '2':  // DUP
      push(top());
      return true;
    default:
      return false;
  }
}

void PickleMachine::check_protocol() {
  const unsigned protocol = input_.u8();
  if (protocol > kHighestProtocol) {
    throw_unsupported("protocol ", protocol, "; the highest known is ", unsigned{kHighestProtocol},
                      ": damaged, or written by a Python newer than npyfs");
  }
}

void PickleMachine::push(PickleId id) {
  if (stack_.size() == Pickle::kMostStack) {
    throw_beyond_limit("more than ", Pickle::kMostStack, " values on the stack");
  }
  stack_.push_back(id);
}

PickleId PickleMachine::top() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) {
    throw_broken_pickle("nothing on the stack");
  }
  return stack_.back();
}

PickleId PickleMachine::pop() {
  const PickleId id = top();
  stack_.pop_back();
  return id;
}

std::span<const PickleId> PickleMachine::pop_to_mark() {
  if (marks_.empty()) {
    throw_broken_pickle("no mark on the stack");
  }
  const std::size_t begin = marks_.back();
  marks_.pop_back();
  popped_.assign(stack_.begin() + static_cast<std::ptrdiff_t>(begin), stack_.end());
  stack_.resize(begin);
  return popped_;
}

void PickleMachine::push_tuple(std::size_t count) {
  std::array<PickleId, 3> items{};
  for (std::size_t i = count; i-- > 0;) {
    items[i] = pop();
  }
  push(builder_.tuple(std::span(items).first(count)));
}

}  // namespace npyfs
