#include "cli/text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "npyfs/base/text.h"

namespace npyfs {
namespace {

// Removes "`head`: " from the front of `text`, if it is there.
void drop_head(std::string_view& text, std::string_view head) {
  if (!head.empty() && text.starts_with(head) && text.substr(head.size()).starts_with(": ")) {
    text.remove_prefix(head.size() + 2);
  }
}

std::string_view last_component(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string human_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return grouped(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      append_percent(out, byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string located(std::string_view source, std::string_view path, std::string_view what) {
  drop_head(what, source);
  drop_head(what, last_component(source));
  drop_head(what, path);
  std::string text(source);
  text += ": ";
  if (!path.empty()) {
    text += path;
    text += ": ";
  }
  text += what;
  return printable(text);
}

}  // namespace npyfs
