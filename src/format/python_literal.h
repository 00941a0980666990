// Reads the tokens of a Python literal, as far as .npy headers use them: strings, integers, True
// and False, and the marks between. It never builds a tree; whoever knows what must come asks for
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "npyfs/base/error.h"

namespace npyfs {

enum class TextEncoding { kLatin1, kUtf8 };

// Borrows the text. Every function skips blanks and comments first, and throws Error (EIO) that
// says what was expected and at which byte.
class LiteralReader {
 public:
  // `what` names the text in errors: "header".
  LiteralReader(std::string_view text, TextEncoding encoding, const char* what)
      : text_(text), what_(what), latin1_(encoding == TextEncoding::kLatin1) {}

  // The next character, which stays; NUL at the end.
  char peek();

  // Takes the next character if it is `c`.
  bool skip(char c);
  void expect(char c);

  // Whether a string literal is next, whatever its prefix.
  bool at_string();

  // One string literal, or several one after another, as UTF-8: a lone surrogate takes the three
  // bytes that UTF-8 would have for it.
  std::string string();

  // Not negative, in any spelling of Python 2 or 3: `12`, `12L`, `0x0c`, `1_2`.
  std::uint64_t integer();

  bool boolean();

  // Nothing but blanks and NULs may follow.
  void end();

  // What the text has that Python or NumPy wouldn't take.
  bool saw_bytes_literal() const { return saw_bytes_literal_; }
  std::size_t nul_count() const { return nul_count_; }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw_corrupt(parts..., " at byte ", at_, " of the ", what_);
  }

 private:
  struct StringPrefix {
    std::size_t length = 0;
    bool raw = false;
    bool bytes = false;
  };

  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  void skip_blanks();
  bool string_prefix(StringPrefix& prefix) const;
  void string_piece(std::string& out);
  void string_tail(std::string& out, char quote, bool raw);
  void escape(std::string& out);
  std::uint32_t escaped_number(unsigned base, std::size_t most_digits, bool exactly);
  void append_byte(std::string& out, char c) const;

  std::string_view text_;
  const char* what_;
  std::size_t at_ = 0;
  std::size_t nul_count_ = 0;
  bool latin1_;
  bool saw_bytes_literal_ = false;
};

// Appends the UTF-8 form of `code`, which may be a surrogate. Precondition: code <= 0x10FFFF.
void append_utf8(std::string& out, std::uint32_t code);

// Appends `text` (UTF-8) as Python's repr() prints a string. What Python takes for printable beyond
// Latin-1 isn't looked up: such characters stand as they are, which reads back the same.
void append_python_string(std::string& out, std::string_view text);

}  // namespace npyfs
