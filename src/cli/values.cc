#include "cli/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"
#include "npyfs/format/dtype.h"

#include "cli/usage.h"

namespace npyfs {
namespace {

constexpr std::string_view kAll = "all";

[[noreturn]] void refuse(std::string_view option, const std::string& text,
                         const std::string& wanted) {
  throw UsageError(std::string(option) + ": '" + text + "' is not " + wanted);
}

// The digits at the front of `text`, which are removed; nullopt without any or past 64 bits.
std::optional<std::uint64_t> take_digits(std::string_view& text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// What a suffix multiplies by, or nullopt.
std::optional<std::uint64_t> unit_of(std::string_view suffix) {
  constexpr std::string_view kUnits = "BKMGT";
  if (suffix.empty()) {
    return 1;
  }
  const char letter = static_cast<char>(suffix[0] >= 'a' ? suffix[0] - 'a' + 'A' : suffix[0]);
  const std::size_t power = kUnits.find(letter);
  const std::string_view rest = suffix.substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) {
    return std::nullopt;
  }
  return std::uint64_t{1} << (10 * power);
}

// Names people give types, to suggest from.
std::vector<std::string> type_names() {
  std::vector<std::string> names = {"bool",    "int8",    "int16",     "int32",     "int64",
                                    "uint8",   "uint16",  "uint32",    "uint64",    "float16",
                                    "float32", "float64", "complex64", "complex128"};
  for (const ElementType type : element_types()) {
    names.emplace_back(element_name(type));
  }
  return names;
}

}  // namespace

std::uint64_t parse_size(std::string_view option, const std::string& text) {
  std::string_view rest = text;
  const auto number = take_digits(rest, 10);
  const auto unit = unit_of(rest);
  const auto size = number && unit ? checked_multiply(*number, *unit) : std::nullopt;
  if (!size) {
    refuse(option, text, "a size in bytes, such as 64M, 2G or 1048576");
  }
  return *size;
}

std::uint64_t parse_number(std::string_view option, const std::string& text, std::uint64_t least,
                           std::uint64_t most) {
  std::string_view rest = text;
  const auto number = take_digits(rest, 10);
  if (!number || !rest.empty() || *number < least || *number > most) {
    refuse(option, text, text_of("a number from ", least, " to ", most));
  }
  return *number;
}

std::uint32_t parse_umask(std::string_view option, const std::string& text) {
  std::string_view rest = text;
  const auto bits = take_digits(rest, 8);
  if (!bits || !rest.empty() || *bits > 0777) {
    refuse(option, text, "an octal mask of permissions, such as 022 or 077");
  }
  return static_cast<std::uint32_t>(*bits);
}

ViewSet parse_views(std::string_view option, const std::string& text) {
  ViewSet views{};
  std::string_view rest = text;
  while (true) {
    const std::size_t end = std::min(rest.find_first_of(",:"), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word == kAll) {
      views.fill(true);
    } else if (const auto view = view_named(word)) {
      views[static_cast<std::size_t>(*view)] = true;
    } else {
      refuse(option, std::string(word),
             "a view; a list of npy:raw:u8view:meta:f32view:c64view is wanted, or all");
    }
    if (end == rest.size()) {
      return views;
    }
    rest.remove_prefix(end + 1);
  }
}

char parse_split(std::string_view option, const std::string& text) {
  if (text.size() != 1 || text[0] <= ' ' || text[0] > '~') {
    refuse(option, text, "one ASCII character, such as '.'");
  }
  return text[0];
}

TypeRule parse_type_rule(std::string_view option, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    refuse(option, text, "GLOB=TYPE, such as '*.weight=float8_e4m3fn'");
  }
  TypeRule rule = {text.substr(0, equals), text.substr(equals + 1)};
  try {
    parse_type(rule.type);
  } catch (const Error& e) {
    throw UsageError(text_of(option, ": ", e.what(), did_you_mean(rule.type, type_names())));
  }
  return rule;
}

}  // namespace npyfs
