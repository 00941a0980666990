#include "npyfs/format/shard_index.h"

#include <algorithm>
#include <climits>
#include <span>
#include <utility>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

bool is_string(const ArrayInfo& info) {
  const bool text = info.dtype.kind == DtypeKind::kText || info.dtype.kind == DtypeKind::kBytes;
  return info.has_views() && info.shape.empty() && text;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80 | (code >> shift & 0x3F));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

// Of a shard's path, how many directories above the index it may name. Each is a look at the disk,
// and a path has room for thousands.
constexpr std::size_t kMostLeftOut = 100;

using Components = std::vector<std::string_view>;

// Components without the empty ones and ".".
Components components_of(std::string_view path) {
  Components components;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (!component.empty() && component != ".") {
      components.push_back(component);
    }
  }
  return components;
}

std::string join(std::span<const std::string_view> components) {
  std::string path;
  for (const std::string_view component : components) {
    path += path.empty() ? "" : "/";
    path += component;
  }
  return path;
}

// The path with each ".." taken back; "" if one leads above the start.
std::string normal_path(std::string_view path) {
  Components way;
  for (const std::string_view component : components_of(path)) {
    if (component != "..") {
      way.push_back(component);
    } else if (way.empty()) {
      return "";
    } else {
      way.pop_back();
    }
  }
  return join(way);
}

bool has_drive_letter(std::string_view path) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return path.size() > 1 && path[1] == ':' && is_letter(path[0]);
}

}  // namespace

std::string element_text(Bytes element, DtypeKind kind, bool swapped) {
  std::string text;
  if (kind == DtypeKind::kBytes) {
    text = text_view(element);
    text.resize(text.find_last_not_of('\0') + 1);
    return text;
  }
  std::vector<std::uint32_t> codes;
  for (ByteReader in(element); in.remaining() >= 4;) {
    const std::uint32_t code = in.u32();
    codes.push_back(swapped ? __builtin_bswap32(code) : code);
  }
  while (!codes.empty() && codes.back() == 0) {
    codes.pop_back();
  }
  for (const std::uint32_t code : codes) {
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      throw_corrupt("code point ", code, " is no character; write the index again");
    }
    append_utf8(text, code);
  }
  return text;
}

ShardIndex read_shard_index(const Npz& npz) {
  ShardIndex index;
  for (std::uint32_t i = 0; i < npz.count(); ++i) {
    const auto& info = npz.info(i);
    if (info == nullptr || npz.archive().member(i).is_superseded) {
      continue;
    }
    if (!is_string(*info) || info->nbytes > 4 * kMostShardPath) {
      index.others.push_back(i);
      continue;
    }
    try {
      const auto element = read_bytes(*npz.open(i), info->data_offset, info->nbytes);
      const bool swapped = info->dtype.order == ByteOrder::kBig;
      index.entries.push_back({npz.key(i), element_text(element, info->dtype.kind, swapped), i});
    } catch (const Error& e) {
      index.unreadable.push_back({i, e});
    }
  }
  return index;
}

std::vector<std::string> shard_candidates(const ShardEntry& entry, std::string_view directory) {
  std::string path = entry.path;
  if (has_drive_letter(path) || path.find('/') == std::string::npos) {
    std::ranges::replace(path, '\\', '/');
  }
  std::vector<std::string> candidates;
  const auto add = [&](std::string candidate) {
    const bool can_exist = !candidate.empty() && candidate.size() < PATH_MAX &&
                           candidate.find('\0') == std::string::npos;
    if (can_exist && std::ranges::find(candidates, candidate) == candidates.end()) {
      candidates.push_back(std::move(candidate));
    }
  };
  const std::string_view told = path;
  const bool inside = told.starts_with(directory) && told.size() > directory.size() &&
                      (directory == "/" || told[directory.size()] == '/');
  if (told.starts_with('/')) {
    add(inside ? normal_path(told.substr(directory.size())) : "");
  } else {
    add(normal_path(told));
  }
  // Suffixes: of the components after the last "..", since what precedes them isn't below us.
  const Components all = components_of(told);
  const auto last_up = std::find(all.rbegin(), all.rend(), "..");
  std::size_t left_out = 0;
  for (auto first = last_up.base(); first != all.end(); ++first, ++left_out) {
    if (left_out < kMostLeftOut || first + 1 == all.end()) {
      add(join({first, all.end()}));
    }
  }
  add(normal_path(entry.key + ".npy"));
  return candidates;
}

}  // namespace npyfs
