// JSON written as text: what every writer of JSON in npyfs quotes its strings with.
#pragma once

#include <string>
#include <string_view>

namespace npyfs {

// Appends `text` as a JSON string with its quotes. The result is valid UTF-8 whatever `text` is:
// bytes that aren't well-formed UTF-8 become %XX.
void append_json_string(std::string& out, std::string_view text);

// The same, as a string of its own.
std::string json_quote(std::string_view text);

}  // namespace npyfs
