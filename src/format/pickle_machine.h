// The stack machine that a pickle is a program for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/pickle_builder.h"
#include "format/pickle_input.h"

namespace npyfs {

class PickleMachine {
 public:
  // Borrows the source.
  PickleMachine(const Source& source, std::uint64_t offset, std::uint64_t end)
      : source_(source), input_(source, offset, end) {}

  Pickle run() &&;

 private:
  // Each does the instruction if it is one of its group; false if not.
  bool do_number(std::uint8_t code);
  bool do_string(std::uint8_t code);
  bool do_sequence(std::uint8_t code);
  bool do_mapping(std::uint8_t code);
  bool do_object(std::uint8_t code);
  bool do_stack(std::uint8_t code);
  bool do_memo(std::uint8_t code);
  void check_protocol();
  [[noreturn]] static void refuse(std::uint8_t code);

  void push(PickleId id);
  PickleId pop();
  PickleId top();
  // What lies above the last mark, which goes; valid until the next call.
  std::span<const PickleId> pop_to_mark();
  void push_tuple(std::size_t count);

  void push_integer(std::string_view decimal);
  void push_long(std::uint64_t length);
  void push_string(PickleKind kind, std::uint64_t length);
  void push_line(PickleKind kind, ByteForm form);
  static std::string copy_of(const PickleRange& range, Bytes bytes, PickleKind kind);

  void append(std::span<const PickleId> items);
  void set_items(std::span<const PickleId> items);
  void add_to_set(std::span<const PickleId> items);
  void add_list_items(PickleId object, std::span<const PickleId> items);
  void push_global(PickleId module, PickleId name);
  PickleId read_global();
  void build();

  void put(std::uint64_t number);
  PickleId get(std::uint64_t number) const;
  std::uint64_t memo_number();

  const Source& source_;
  PickleInput input_;
  PickleBuilder builder_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::vector<PickleId> popped_;    // by the last pop_to_mark
  std::vector<PickleId> memo_;      // kNoPickle where there is nothing
  std::size_t memo_count_ = 0;
};

}  // namespace npyfs
