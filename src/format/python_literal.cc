#include "format/python_literal.h"

#include <optional>

#include "npyfs/base/text.h"

namespace npyfs {
namespace {

std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') {
    return static_cast<unsigned>(c - '0');
  }
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<unsigned>(lower - 'a' + 10);
  }
  return std::nullopt;
}

std::optional<unsigned> digit_of(char c, unsigned base) {
  const auto digit = digit_of(c);
  return digit && *digit < base ? digit : std::nullopt;
}

bool is_word(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// The base that the letter of `0x`, `0o` or `0b` stands for; 0 for any other.
unsigned base_of(char letter) {
  switch (letter | 0x20) {
    case 'x':
      return 16;
    case 'o':
      return 8;
    case 'b':
      return 2;
    default:
      return 0;
  }
}

// The character that `\c` stands for, or NUL if `c` isn't of that simple kind.
char simple_escape(char c) {
  constexpr std::string_view kNames = "abfnrtv\\'\"";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
  const std::size_t i = kNames.find(c);
  return i == std::string_view::npos ? '\0' : kValues[i];
}

void append_hex_escape(std::string& out, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// One byte of a Python string: ASCII, or one that isn't UTF-8.
void append_ascii(std::string& out, char c, char quote) {
  if (c == quote || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n' || c == '\r' || c == '\t') {
    out += '\\';
    out += c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
  } else if (c >= ' ' && c <= '~') {
    out += c;
  } else {
    append_hex_escape(out, static_cast<unsigned char>(c));
  }
}

// Whether U+0080 … U+00A0 or U+00AD is at the front, which Python doesn't print.
bool is_latin1_control(std::string_view text) {
  const unsigned char second = static_cast<unsigned char>(text[1]);
  return text[0] == '\xC2' && (second <= 0xA0 || second == 0xAD);
}

// Appends the lone surrogate at the front of `text` as \uXXXX; returns its length, or 0 if there is
// none.
std::size_t append_surrogate(std::string& out, std::string_view text) {
  if (text.size() < 3 || text[0] != '\xED') {
    return 0;
  }
  const unsigned second = static_cast<unsigned char>(text[1]);
  const unsigned third = static_cast<unsigned char>(text[2]);
  if (second < 0xA0 || second > 0xBF || third < 0x80 || third > 0xBF) {
    return 0;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  const unsigned code = 0xD000 | (second & 0x3F) << 6 | (third & 0x3F);
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    out += kDigits[code >> shift & 15];
  }
  return 3;
}

std::string shown(char c) {
  const unsigned char byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7F) {
    return text_of("'", c, "'");
  }
  return text_of("byte ", unsigned{byte});
}

}  // namespace

void LiteralReader::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      const std::size_t line_end = text_.find('\n', at_);
      at_ = line_end == std::string_view::npos ? text_.size() : line_end;
    } else if (c == ' ' || (c >= '\t' && c <= '\r' && c != '\v')) {
      ++at_;
    } else {
      return;
    }
  }
}

char LiteralReader::peek() {
  skip_blanks();
  return at(at_);
}

bool LiteralReader::skip(char c) {
  if (peek() != c) {
    return false;
  }
  ++at_;
  return true;
}

void LiteralReader::expect(char c) {
  if (!skip(c)) {
    if (at_ == text_.size()) {
      fail("ends where '", c, "' is expected,");
    }
    fail("'", c, "' expected, ", shown(text_[at_]), " found");
  }
}

bool LiteralReader::string_prefix(StringPrefix& prefix) const {
  std::size_t length = 0;
  while (length <= 2) {
    const char c = at(at_ + length);
    if (c == '\'' || c == '"') {
      prefix.length = length;
      return true;
    }
    const char lower = static_cast<char>(c | 0x20);
    if (lower != 'u' && lower != 'r' && lower != 'b') {
      return false;
    }
    prefix.raw = prefix.raw || lower == 'r';
    prefix.bytes = prefix.bytes || lower == 'b';
    ++length;
  }
  return false;
}

bool LiteralReader::at_string() {
  skip_blanks();
  StringPrefix prefix;
  return string_prefix(prefix);
}

std::string LiteralReader::string() {
  if (!at_string()) {
    fail("string expected, ", at_ == text_.size() ? "end" : shown(text_[at_]), " found");
  }
  std::string out;
  do {
    string_piece(out);
  } while (at_string());
  return out;
}

void LiteralReader::string_piece(std::string& out) {
  StringPrefix prefix;
  string_prefix(prefix);
  saw_bytes_literal_ = saw_bytes_literal_ || prefix.bytes;
  at_ += prefix.length;
  const char quote = text_[at_++];
  // Nearly every string is plain ASCII without an escape, and is then one copy.
  const std::size_t begin = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == quote || c == '\\' || c == '\n' || (c & 0x80) != 0) {
      break;
    }
    ++at_;
  }
  out += text_.substr(begin, at_ - begin);
  string_tail(out, quote, prefix.raw);
}

void LiteralReader::string_tail(std::string& out, char quote, bool raw) {
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_++];
    if (c == quote) {
      return;
    }
    if (c != '\\') {
      append_byte(out, c);
    } else if (!raw) {
      escape(out);
    } else {
      out += c;
      if (at(at_) == quote) {
        out += text_[at_++];
      }
    }
  }
  fail("string isn't closed");
}

// After the backslash.
void LiteralReader::escape(std::string& out) {
  if (at_ == text_.size()) {
    return;  // the caller finds the string open
  }
  const char c = text_[at_];
  if (c == '\n') {
    ++at_;
  } else if (const char simple = simple_escape(c); simple != '\0') {
    out += simple;
    ++at_;
  } else if (c == 'x' || c == 'u' || c == 'U') {
    ++at_;
    append_utf8(out, escaped_number(16, c == 'x' ? 2 : c == 'u' ? 4 : 8, true));
  } else if (digit_of(c, 8)) {
    append_utf8(out, escaped_number(8, 3, false));
  } else {
    out += '\\';  // as Python does with an escape it doesn't know
  }
}

std::uint32_t LiteralReader::escaped_number(unsigned base, std::size_t most_digits, bool exactly) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  while (digits < most_digits) {
    const auto digit = digit_of(at(at_), base);
    if (!digit) {
      break;
    }
    value = value * base + *digit;
    ++digits;
    ++at_;
  }
  if ((exactly && digits < most_digits) || value > 0x10FFFF) {
    fail("escape is no character");
  }
  return static_cast<std::uint32_t>(value);
}

void LiteralReader::append_byte(std::string& out, char c) const {
  if (latin1_ && (c & 0x80) != 0) {
    append_utf8(out, static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

std::uint64_t LiteralReader::integer() {
  const char first = peek();
  if (first == '-') {
    fail("negative number");
  }
  at_ += first == '+' ? 1 : 0;
  unsigned base = 10;
  if (at(at_) == '0' && base_of(at(at_ + 1)) != 0) {
    base = base_of(at(at_ + 1));
    at_ += 2;
  }
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (;; ++at_) {
    if (at(at_) == '_' && digits > 0 && digit_of(at(at_ + 1), base)) {
      continue;
    }
    const auto digit = digit_of(at(at_), base);
    if (!digit) {
      break;
    }
    if (value > (static_cast<std::uint64_t>(INT64_MAX) - *digit) / base) {
      fail("number passes 2^63 - 1");
    }
    value = value * base + *digit;
    ++digits;
  }
  if (digits > 0 && (at(at_) | 0x20) == 'l') {
    ++at_;
  }
  if (digits == 0 || is_word(at(at_))) {
    fail("integer expected, ", at_ == text_.size() ? "end" : shown(text_[at_]), " found");
  }
  return value;
}

bool LiteralReader::boolean() {
  skip_blanks();
  for (const std::string_view word : {"True", "False"}) {
    if (text_.substr(at_, word.size()) == word && !is_word(at(at_ + word.size()))) {
      at_ += word.size();
      return word == "True";
    }
  }
  fail("True or False expected");
}

void LiteralReader::end() {
  while (true) {
    skip_blanks();
    if (at_ == text_.size()) {
      return;
    }
    if (text_[at_] != '\0') {
      fail("end expected, ", shown(text_[at_]), " found");
    }
    ++at_;
    ++nul_count_;
  }
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto continuation = [](std::uint32_t bits) {
    return static_cast<char>(0x80 | (bits & 0x3F));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += continuation(code);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += continuation(code >> 6);
    out += continuation(code);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += continuation(code >> 12);
    out += continuation(code >> 6);
    out += continuation(code);
  }
}

void append_python_string(std::string& out, std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  out += quote;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const char c = text.front();
    if (const std::size_t surrogate = length == 0 ? append_surrogate(out, text) : 0) {
      text.remove_prefix(surrogate);
    } else if (length > 1 && !is_latin1_control(text)) {
      out += text.substr(0, length);
      text.remove_prefix(length);
    } else if (length > 1) {
      append_hex_escape(out, static_cast<unsigned char>(text[1]));
      text.remove_prefix(2);
    } else {
      append_ascii(out, c, quote);
      text.remove_prefix(1);
    }
  }
  out += quote;
}

}  // namespace npyfs
