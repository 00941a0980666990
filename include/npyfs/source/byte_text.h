// Bytes that are written down as text, a character each, as old pickles have them.
#pragma once

#include <cstdint>
#include <optional>

#include "npyfs/base/bytes.h"
#include "npyfs/source/source.h"

namespace npyfs {

enum class ByteForm : std::uint8_t {
  kRaw,            // the bytes themselves
  kUtf8,           // a byte is the character of that number, in UTF-8
  kUnicodeEscape,  // Python's raw-unicode-escape: as it is, or \uXXXX or \UXXXXXXXX
  kStringEscape,   // between the quotes of Python 2's repr: as it is, or \xXX, \n, \\ …
};

struct TextCharacter {
  std::uint32_t number = 0;
  std::size_t length = 0;  // bytes of the text
};

// The longest form of a character, in bytes.
constexpr std::size_t kLongestCharacter = 10;

// The character at the front of `text`, or nullopt if there is none in that form or it is cut.
// (UTF-8 may have surrogates, as Python's "surrogatepass" does.) For kRaw and kStringEscape it is a
// byte.
std::optional<TextCharacter> next_character(Bytes text, ByteForm form);

// The bytes, `size` of them, that `text` stands for; kRaw is `text` itself. Places in the text are
// found by decoding from the front once, and remembered every 64 KiB. Reading throws Error (EIO)
// where the text stands for no byte, or for fewer or more than `size` in all.
SourcePtr byte_text(SourcePtr text, ByteForm form, std::uint64_t size);

// Whether `length` bytes of such a text can stand for `size` bytes.
bool may_stand_for(ByteForm form, std::uint64_t length, std::uint64_t size);

}  // namespace npyfs
