// From keys and member names to paths that every filesystem call can take, and back from a file
// name to the view it asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npyfs {

// The files of an array. The order is that of a listing, and part of inode numbers.
enum class View : std::uint8_t { kNpy, kRaw, kU8view, kMeta, kF32view, kC64view };
constexpr std::size_t kViews = 6;

// ".npy", ".raw", ".u8view.npy", ".meta.json", ".f32view.npy", ".c64view.npy".
std::string_view suffix(View view);

// The word for --views and meta.json's "files": the suffix without its dot, "npy" and so on for
// --views.
std::string_view view_name(View view);
std::optional<View> view_named(std::string_view name);

constexpr std::size_t kMostNameBytes = 255;  // NAME_MAX
constexpr std::size_t kMostStemBytes = 243;  // leaves room for the longest suffix

// Splits a key or member name into path components: at '/' and, if given, at `split`. Components
// that are empty or "." drop out; "..", control bytes, bytes that aren't UTF-8, a '%' that two hex
// digits follow and a leading ".npyfs" are escaped as %XX; nothing left becomes "%". The last
// component is cut to fit in `most_bytes` (kMostStemBytes for an array's key), the others to
// kMostNameBytes.
std::vector<std::string> path_components(std::string_view name, std::optional<char> split,
                                         std::size_t most_bytes);

// `component`, or if it is longer than `most_bytes`: at most 226 of its bytes, cut at a character,
// "~", and 16 hex digits of its SHA-256.
std::string cut_component(std::string component, std::size_t most_bytes);

}  // namespace npyfs
