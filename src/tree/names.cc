#include "npyfs/tree/names.h"

#include <algorithm>
#include <array>

#include "npyfs/base/text.h"

namespace npyfs {
namespace {

struct ViewText {
  std::string_view suffix;
  std::string_view name;
};
constexpr std::array<ViewText, kViews> kViewTexts = {{{".npy", "npy"},
                                                      {".raw", "raw"},
                                                      {".u8view.npy", "u8view"},
                                                      {".meta.json", "meta"},
                                                      {".f32view.npy", "f32view"},
                                                      {".c64view.npy", "c64view"}}};

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

std::string escape_component(std::string_view component) {
  if (component == "..") {
    return "%2E%2E";
  }
  std::string out;
  if (component.starts_with(".npyfs")) {
    out = "%2E";
    component.remove_prefix(1);
  }
  while (!component.empty()) {
    const std::size_t length = utf8_sequence_length(component);
    const bool escape_like =
        component[0] == '%' && component.size() > 2 && is_hex(component[1]) && is_hex(component[2]);
    if (length == 0 || is_control(component[0]) || escape_like) {
      append_percent(out, static_cast<unsigned char>(component[0]));
      component.remove_prefix(1);
    } else {
      out += component.substr(0, length);
      component.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace

std::string_view suffix(View view) { return kViewTexts[static_cast<std::size_t>(view)].suffix; }

std::string_view view_name(View view) { return kViewTexts[static_cast<std::size_t>(view)].name; }

std::optional<View> view_named(std::string_view name) {
  for (std::size_t i = 0; i < kViews; ++i) {
    if (kViewTexts[i].name == name) {
      return static_cast<View>(i);
    }
  }
  return std::nullopt;
}

std::vector<std::string> path_components(std::string_view name, std::optional<char> split,
                                         std::size_t most_bytes) {
  std::vector<std::string> components;
  while (true) {
    const auto end = static_cast<std::size_t>(
        std::ranges::find_if(name, [&](char c) { return c == '/' || c == split; }) - name.begin());
    const std::string_view component = name.substr(0, end);
    if (!component.empty() && component != ".") {
      components.push_back(escape_component(component));
    }
    if (end == name.size()) {
      break;
    }
    name.remove_prefix(end + 1);
  }
  if (components.empty()) {
    components.emplace_back("%");
  }
  for (std::size_t i = 0; i < components.size(); ++i) {
    const bool last = i + 1 == components.size();
    components[i] = cut_component(std::move(components[i]), last ? most_bytes : kMostNameBytes);
  }
  return components;
}

std::string cut_component(std::string component, std::size_t most_bytes) {
  constexpr std::size_t kKept = 226;
  if (component.size() <= most_bytes) {
    return component;
  }
  std::size_t end = kKept;
  while (end > 0 && (static_cast<unsigned char>(component[end]) & 0xC0) == 0x80) {
    --end;
  }
  return component.substr(0, end) + "~" + sha256_hex(component, 16);
}

}  // namespace npyfs
