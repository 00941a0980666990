#include "cli/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <stdlib.h>
#include <strings.h>

#include <fmt/format.h>

#include "cli/text.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kBarWidth = 40;  // characters

// `part` of `most`, in units of 1/steps of a character; rounded, but never to nothing.
std::uint64_t bar_length(std::uint64_t part, std::uint64_t most, std::uint64_t steps) {
  const double length = static_cast<double>(part) / static_cast<double>(most) *
                        static_cast<double>(kBarWidth * steps);
  return part == 0 ? 0
                   : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::lround(length)));
}

std::string bar(std::uint64_t part, std::uint64_t most, bool utf8) {
  if (!utf8) {
    return std::string(static_cast<std::size_t>(bar_length(part, most, 1)), '#');
  }
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const std::uint64_t length = bar_length(part, most, kEighths.size());
  std::string text;
  for (std::uint64_t i = 0; i < length / kEighths.size(); ++i) {
    text += "█";
  }
  return text.append(kEighths[static_cast<std::size_t>(length % kEighths.size())]);
}

// What stands before a bin, told apart from the next by enough digits.
std::string label(const Histogram& histogram, std::size_t bin) {
  const auto bins = static_cast<long double>(histogram.counts.size());
  const long double width = histogram.to / bins - histogram.from / bins;
  const long double begin = histogram.from + width * static_cast<long double>(bin);
  const bool one_integer = width == 1 && std::floor(histogram.from) != histogram.from;
  const long double shown = one_integer ? begin + 0.5L : begin;
  const long double largest = std::max(std::abs(histogram.from), std::abs(histogram.to));
  const bool zero = !one_integer && std::abs(shown) < width / 1000;  // but for rounding
  const int digits =
      width > 0 ? std::clamp(static_cast<int>(std::ceil(std::log10(largest / width))) + 2, 3, 19)
                : 6;
  return fmt::format("{:.{}g}", zero ? 0.0L : shown, digits);
}

std::string_view variable(const char* name) {
  const char* value = ::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets variables
  return value == nullptr ? "" : value;
}

bool ends_with_utf8(std::string_view locale) {
  for (const std::string_view name : {".utf-8", ".utf8"}) {
    const std::string_view charset = locale.substr(std::min(locale.find('.'), locale.size()));
    if (charset.size() >= name.size() &&
        ::strncasecmp(charset.data(), name.data(), name.size()) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string draw_histogram(const Histogram& histogram, bool utf8) {
  if (histogram.counts.empty()) {
    return "";
  }
  const std::uint64_t most = std::max<std::uint64_t>(1, std::ranges::max(histogram.counts));
  std::size_t label_width = 0;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    label_width = std::max(label_width, label(histogram, bin).size());
  }
  std::string text;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    const std::uint64_t count = histogram.counts[bin];
    const std::string drawn = bar(count, most, utf8);
    text += fmt::format("  {:>{}}  {}{}{}\n", label(histogram, bin), label_width, drawn,
                        drawn.empty() ? "" : " ", grouped(count));
  }
  return text;
}

bool terminal_takes_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = variable(name);
    if (!locale.empty()) {
      return ends_with_utf8(locale);
    }
  }
  return false;
}

}  // namespace npyfs
