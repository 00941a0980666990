#include "cli/option_list.h"

#include <cstddef>
#include <utility>

#include "cli/usage.h"

namespace npyfs {
namespace {

ListedOption option_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  ListedOption option;
  option.name = text.substr(0, equals);
  if (option.name.empty()) {
    throw UsageError("-o: '" + text + "' has no name in front of '='");
  }
  if (equals != std::string::npos) {
    option.value = text.substr(equals + 1);
  }
  return option;
}

}  // namespace

std::vector<ListedOption> parse_option_list(std::string_view text) {
  std::vector<ListedOption> options;
  std::string current;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && (next == ',' || next == '\\')) {
      current += next;
      ++i;
    } else if (c == '"' && (quoted || current.ends_with('='))) {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      if (!current.empty()) {
        options.push_back(option_of(std::exchange(current, {})));
      }
    } else {
      current += c;
    }
  }
  if (quoted) {
    throw UsageError("-o: '" + current + "' has a double quote that isn't closed");
  }
  if (!current.empty()) {
    options.push_back(option_of(current));
  }
  return options;
}

std::vector<std::string> split_value(std::string_view value) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size() && value[i + 1] == ':') {
      parts.back() += value[++i];
    } else if (value[i] == ':') {
      parts.emplace_back();
    } else {
      parts.back() += value[i];
    }
  }
  return parts;
}

}  // namespace npyfs
