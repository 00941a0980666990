// Text whose bytes may be anything: UTF-8 told from the rest, and escapes for what isn't.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace npyfs {

// Length of the well-formed UTF-8 sequence at the front of `text` (RFC 3629: no overlong forms, no
// surrogates), or 0 if there is none.
std::size_t utf8_sequence_length(std::string_view text);

bool is_utf8(std::string_view text);

// `text` with each byte that isn't part of well-formed UTF-8 as %XX: what JSON shows of it.
std::string escape_invalid_utf8(std::string_view text);

// Appends `byte` as %XX, upper-case digits.
void append_percent(std::string& out, unsigned char byte);

// Code page 437, which is what ZIP names are when they aren't UTF-8, as UTF-8.
std::string cp437_to_utf8(std::string_view text);

// The first `digits` hex digits of the SHA-256 of `text`, lower case; at most 64.
std::string sha256_hex(std::string_view text, std::size_t digits);

}  // namespace npyfs
