// Values of an array counted and binned as they come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npyfs/tree/value_stats.h"

#include "tree/moments.h"

namespace npyfs {

class ValueTally {
 public:
  void add(std::span<const double> values) { add_all(values); }
  void add(std::span<const long double> values) { add_all(values); }
  void add(long double value, std::uint64_t times);

  // All but `distinct` and the histogram.
  ValueStats stats() const;

 private:
  template <typename Real>
  void add_all(std::span<const Real> values);

  ValueStats counts_;
  Moments moments_;
};

class Bins {
 public:
  // For values between stats.min and stats.max, at least one.
  Bins(const ValueStats& stats, bool integers);

  // What isn't finite is passed over.
  void add(std::span<const double> values) { add_all(values); }
  void add(std::span<const long double> values) { add_all(values); }
  void add(long double value, std::uint64_t times);

  Histogram take() && { return std::move(histogram_); }

 private:
  template <typename Real>
  void add_all(std::span<const Real> values);

  Histogram histogram_;
  std::vector<long double> edges_;  // one more than there are bins
  long double scale_ = 1;           // keeps the arithmetic below the largest number
};

}  // namespace npyfs
