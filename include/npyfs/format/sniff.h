// What bytes are that aren't what their name promises, for the message that says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "npyfs/base/bytes.h"

namespace npyfs {

// How much of a file's start describe_bytes looks at.
inline constexpr std::size_t kSniffSize = 512;

bool has_zip_magic(Bytes head);

// Protocols 2 to 5; those before have no mark.
bool has_pickle_magic(Bytes head);

// A phrase such as "a git LFS pointer: the real file has 123 bytes; fetch it with 'git lfs pull'",
// "an HTML page", "an empty file". `head`: the first kSniffSize bytes or all of `size`. Of what
// isn't known it shows the first bytes.
std::string describe_bytes(Bytes head, std::uint64_t size);

// The same of what could be the data of an array: it says what that would need.
std::string describe_no_image(Bytes head, std::uint64_t size);

// The same, or nullopt for what isn't known.
std::optional<std::string> recognise_bytes(Bytes head, std::uint64_t size);

}  // namespace npyfs
