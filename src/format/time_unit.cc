#include "format/time_unit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace npyfs {
namespace {

constexpr std::array<std::string_view, 13> kUnitNames = {"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                         "ms", "us", "ns", "ps", "fs", "as"};

struct Part {
  std::uint64_t count;
  TimeUnit unit;
};

// What a unit is a whole number of, from long to short, as far as `[Y/12]` may refer to it.
std::array<Part, 3> parts_of(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kYear:
      return {{{12, TimeUnit::kMonth}, {52, TimeUnit::kWeek}, {365, TimeUnit::kDay}}};
    case TimeUnit::kMonth:
      return {{{4, TimeUnit::kWeek}, {30, TimeUnit::kDay}, {720, TimeUnit::kHour}}};
    case TimeUnit::kWeek:
      return {{{7, TimeUnit::kDay}, {168, TimeUnit::kHour}, {10080, TimeUnit::kMinute}}};
    case TimeUnit::kDay:
      return {{{24, TimeUnit::kHour}, {1440, TimeUnit::kMinute}, {86400, TimeUnit::kSecond}}};
    case TimeUnit::kHour:
      return {{{60, TimeUnit::kMinute}, {3600, TimeUnit::kSecond}}};
    case TimeUnit::kMinute:
      return {{{60, TimeUnit::kSecond}, {60000, TimeUnit::kMilli}}};
    default:
      break;
  }
  std::array<Part, 3> parts{};
  for (unsigned i = 0; i < 2; ++i) {
    const auto below = static_cast<TimeUnit>(static_cast<unsigned>(unit) + 1 + i);
    if (below < TimeUnit::kGeneric) {
      parts[i] = {i == 0 ? 1000U : 1000000U, below};
    }
  }
  return parts;
}

std::optional<TimeUnit> unit_named(std::string_view name) {
  if (name == "generic") {
    return TimeUnit::kGeneric;
  }
  const auto found = std::ranges::find(kUnitNames, name == "\xCE\xBCs" ? "us" : name);
  if (found == kUnitNames.end()) {
    return std::nullopt;
  }
  return static_cast<TimeUnit>(found - kUnitNames.begin());
}

}  // namespace

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value <= INT64_MAX ? std::optional(value) : std::nullopt;
}

bool set_time_unit(Dtype& dtype, std::string_view text) {
  if (text.empty()) {
    return true;
  }
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') {
    return false;
  }
  text = text.substr(1, text.size() - 2);
  std::uint64_t divisor = 1;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    divisor = decimal(text.substr(slash + 1)).value_or(0);
    text = text.substr(0, slash);
  }
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto multiple = digits == 0 ? 1 : decimal(text.substr(0, digits));
  auto unit = unit_named(text.substr(digits));
  if (!unit || !multiple || *multiple > INT32_MAX || divisor == 0) {
    return false;
  }
  if (divisor != 1) {
    const auto parts = parts_of(*unit);
    const auto* part = std::ranges::find_if(
        parts, [&](const Part& p) { return p.count != 0 && p.count % divisor == 0; });
    if (*unit == TimeUnit::kGeneric || part == parts.end()) {
      return false;
    }
    *multiple *= part->count / divisor;
    unit = part->unit;
  }
  dtype.unit = *unit;
  dtype.unit_multiple = static_cast<std::uint32_t>(*multiple);
  return *multiple <= INT32_MAX;
}

std::string time_unit_text(const Dtype& dtype) {
  if (dtype.unit == TimeUnit::kGeneric) {
    return "";
  }
  std::string out = "[";
  if (dtype.unit_multiple != 1) {
    out += std::to_string(dtype.unit_multiple);
  }
  out += kUnitNames[static_cast<std::size_t>(dtype.unit)];
  return out + "]";
}

}  // namespace npyfs
