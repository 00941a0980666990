#include "tree/value_tally.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace npyfs {
namespace {

constexpr std::size_t kMostBins = 16;

// Counts what isn't finite. True if `value` is.
template <typename Real>
bool count_special(Real value, std::uint64_t times, ValueStats& counts) {
  if (std::isfinite(value)) {
    counts.zeros += value == 0 ? times : 0;
    return true;
  }
  counts.nan += std::isnan(value) ? times : 0;
  counts.positive_inf += value > 0 ? times : 0;
  counts.negative_inf += value < 0 ? times : 0;
  return false;
}

}  // namespace

template <typename Real>
void ValueTally::add_all(std::span<const Real> values) {
  std::vector<Real> finite;
  finite.reserve(values.size());
  for (const Real value : values) {
    if (count_special(value, 1, counts_)) {
      finite.push_back(value);
    }
  }
  counts_.count += values.size();
  moments_.add(std::span<const Real>(finite));
}

template void ValueTally::add_all(std::span<const double>);
template void ValueTally::add_all(std::span<const long double>);

void ValueTally::add(long double value, std::uint64_t times) {
  counts_.count += times;
  if (count_special(value, times, counts_)) {
    moments_.add(value, times);
  }
}

ValueStats ValueTally::stats() const {
  ValueStats stats = counts_;
  stats.finite = moments_.count();
  if (stats.finite > 0) {
    stats.min = moments_.min();
    stats.max = moments_.max();
    stats.mean = moments_.mean();
    stats.std = moments_.std();
  }
  return stats;
}

Bins::Bins(const ValueStats& stats, bool integers) {
  histogram_ = {stats.min, stats.max, {}};
  std::size_t bins = stats.min == stats.max ? 1 : kMostBins;
  if (integers && stats.max - stats.min < kMostBins) {
    bins = static_cast<std::size_t>(stats.max - stats.min) + 1;
    histogram_.from -= 0.5L;
    histogram_.to += 0.5L;
  }
  histogram_.counts.resize(bins);
  for (std::size_t edge = 0; edge <= bins; ++edge) {
    const long double part = static_cast<long double>(edge) / static_cast<long double>(bins);
    edges_.push_back(histogram_.from * (1 - part) + histogram_.to * part);
  }
  constexpr long double kLarge = std::numeric_limits<long double>::max() / (4 * kMostBins);
  if (std::max(std::abs(stats.min), std::abs(stats.max)) > kLarge) {
    scale_ = 1.0L / (8 * kMostBins);
  }
}

template <typename Real>
void Bins::add_all(std::span<const Real> values) {
  for (const Real value : values) {
    if (std::isfinite(value)) {
      add(value, 1);
    }
  }
}

template void Bins::add_all(std::span<const double>);
template void Bins::add_all(std::span<const long double>);

// What is calculated may be off by rounding, the edges decide: of values that are next to nothing,
// the negative ones go below an edge at 0.
void Bins::add(long double value, std::uint64_t times) {
  const std::size_t last = histogram_.counts.size() - 1;
  if (last == 0) {
    histogram_.counts[0] += times;
    return;
  }
  const long double from = histogram_.from * scale_;
  const long double width = histogram_.to * scale_ - from;
  const long double place = (value * scale_ - from) * static_cast<long double>(last + 1) / width;
  std::size_t bin = std::min(last, static_cast<std::size_t>(place));
  if (bin > 0 && value < edges_[bin]) {
    --bin;
  } else if (bin < last && value >= edges_[bin + 1]) {
    ++bin;
  }
  histogram_.counts[bin] += times;
}

}  // namespace npyfs
