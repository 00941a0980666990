// The values that options take, from text. What isn't one throws UsageError; `option` stands in
// front of its text as the user typed it: "--cache-size".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "npyfs/tree/load.h"
#include "npyfs/tree/tree.h"

namespace npyfs {

// Bytes: "4096", "64K", "256M", "2G", "1T", with powers of 1024; "KiB" and "KB" mean the same.
std::uint64_t parse_size(std::string_view option, const std::string& text);

// A decimal number in [least, most].
std::uint64_t parse_number(std::string_view option, const std::string& text, std::uint64_t least,
                           std::uint64_t most);

// File permission bits in octal: "022", "0077".
std::uint32_t parse_umask(std::string_view option, const std::string& text);

// Names of views with ',' or ':' between them, or "all".
ViewSet parse_views(std::string_view option, const std::string& text);

// One ASCII character.
char parse_split(std::string_view option, const std::string& text);

// GLOB=TYPE, split at the last '='. The type must be one that parse_type takes.
TypeRule parse_type_rule(std::string_view option, const std::string& text);

}  // namespace npyfs
