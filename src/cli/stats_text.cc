#include "cli/stats_text.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "npyfs/format/json_text.h"

#include "cli/histogram.h"
#include "cli/text.h"

namespace npyfs {
namespace {

bool is_time(const Dtype& dtype) {
  return dtype.kind == DtypeKind::kDatetime || dtype.kind == DtypeKind::kTimedelta;
}

bool is_complex_type(const Dtype& dtype) {
  return dtype.kind == DtypeKind::kComplex ||
         (dtype.kind == DtypeKind::kElement && is_complex(dtype.element));
}

bool is_integer(const Dtype& dtype) {
  return dtype.kind == DtypeKind::kBool || dtype.kind == DtypeKind::kInt ||
         dtype.kind == DtypeKind::kUint || is_time(dtype);
}

// "ns", "25s"; "" for a generic one.
std::string unit_of(const Dtype& dtype) {
  const std::string name = dtype_name(dtype).value_or("");
  const std::size_t open = name.find('[');
  return open == std::string::npos ? "" : name.substr(open + 1, name.find(']') - open - 1);
}

// All digits: a double comes back as it was.
std::string exact(long double value, const Dtype& dtype) {
  if (is_integer(dtype)) {
    return fmt::format("{:.0f}", value);
  }
  const auto number = static_cast<double>(value);
  return static_cast<long double>(number) == value && std::isfinite(value)
             ? fmt::format("{}", number)
             : fmt::format("{:.21g}", value);
}

// As many digits as a double has.
std::string rounded(long double value) {
  const auto number = static_cast<double>(value);
  return std::isfinite(number) ? fmt::format("{}", number) : fmt::format("{:.21g}", value);
}

std::string for_people(long double value) { return fmt::format("{:.6g}", value); }

std::string histogram_json(const Histogram& histogram) {
  if (histogram.counts.empty()) {
    return "null";
  }
  return fmt::format("{{\"from\": {:.21g}, \"to\": {:.21g}, \"counts\": [{}]}}", histogram.from,
                     histogram.to, fmt::join(histogram.counts, ", "));
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("  {:<10}{}\n", label, text);
}

// What there is of each kind, kinds that the type can't have left out.
std::string special_text(const ValueStats& stats, const Dtype& dtype) {
  std::string text = counted(stats.zeros, "zero");
  if (is_time(dtype)) {
    text += fmt::format(", {} NaT", grouped(stats.nan));
  } else if (is_complex_type(dtype)) {
    text += fmt::format(", {} NaN, {} inf", grouped(stats.nan), grouped(stats.positive_inf));
  } else if (!is_integer(dtype)) {
    text += fmt::format(", {} NaN, {} +inf, {} -inf", grouped(stats.nan),
                        grouped(stats.positive_inf), grouped(stats.negative_inf));
  }
  if (stats.distinct) {
    text += fmt::format("; {} occur", counted(*stats.distinct, "distinct code"));
    text += *stats.distinct == 1 ? "s" : "";
  }
  return text;
}

}  // namespace

std::string stats_text(const ValueStats& stats, const Dtype& dtype, bool utf8) {
  std::string text;
  if (stats.finite == 0) {
    text += line("values", stats.count == 0 ? "none" : "none of them finite");
  } else {
    const auto extreme = [&](long double value) {
      return is_integer(dtype) ? exact(value, dtype) : for_people(value);
    };
    const std::string unit =
        is_time(dtype) && !unit_of(dtype).empty() ? ", in " + unit_of(dtype) : "";
    text += line("values",
                 fmt::format("min {}, max {}, mean {}, std {}{}{}", extreme(stats.min),
                             extreme(stats.max), for_people(stats.mean), for_people(stats.std),
                             unit, is_complex_type(dtype) ? ", of absolute values" : ""));
  }
  text += line("", special_text(stats, dtype));
  return text + draw_histogram(stats.histogram, utf8);
}

std::string stats_json(const ValueStats& stats, const Dtype& dtype) {
  const bool some = stats.finite > 0;
  const auto figure = [&](long double value, const std::string& digits) {
    return some && std::isfinite(value) ? digits : "null";
  };
  std::string text = fmt::format(
      "{{\"of\": \"{}\", \"count\": {}, \"finite\": {}, \"min\": {}, \"max\": {}, \"mean\": {}, "
      "\"std\": {}, \"zeros\": {}",
      is_complex_type(dtype) ? "absolute values" : "values", stats.count, stats.finite,
      figure(stats.min, exact(stats.min, dtype)), figure(stats.max, exact(stats.max, dtype)),
      figure(stats.mean, rounded(stats.mean)), figure(stats.std, rounded(stats.std)), stats.zeros);
  text += is_time(dtype)
              ? fmt::format(", \"nat\": {}, \"unit\": {}", stats.nan, json_quote(unit_of(dtype)))
              : fmt::format(", \"nan\": {}, \"positive_inf\": {}, \"negative_inf\": {}", stats.nan,
                            stats.positive_inf, stats.negative_inf);
  if (stats.distinct) {
    text += fmt::format(", \"distinct\": {}", *stats.distinct);
  }
  return text + ", \"histogram\": " + histogram_json(stats.histogram) + "}";
}

}  // namespace npyfs
