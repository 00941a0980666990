// How the command line writes sizes, numbers and names for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace npyfs {

// "512 B", "1.5 KiB", "147.2 MiB": three or four digits, powers of 1024.
std::string human_size(std::uint64_t bytes);

// "38,597,376".
std::string grouped(std::uint64_t number);

// "1 array", "3 arrays".
std::string counted(std::uint64_t number, std::string_view noun);

// `text` for a terminal and for one line: control bytes as %XX.
std::string printable(std::string_view text);

// How many characters a terminal shows, each taken for one column wide.
std::size_t width_of(std::string_view text);

// A failure below `path` of `source`, as an error is printed: `source: path: what`, whatever of it
// `what` already begins with.
std::string located(std::string_view source, std::string_view path, std::string_view what);

}  // namespace npyfs
