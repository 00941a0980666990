// Count, extremes, mean and variance of numbers that come in pieces.
//
// Each block of some thousand values is summed twice, the second time about its own mean, and
// blocks are put together by the formula of Chan, Golub and LeVeque in long double, with a mean of
// two parts: nanoseconds since 1970 leave a single one no more than eighths. So nothing cancels
// however far the values lie from 0, and the inner loops are plain sums in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace npyfs {

static_assert(std::numeric_limits<long double>::digits >= 64, "int64 wouldn't be exact");

class Moments {
 public:
  // All must be finite. Real: double or long double.
  template <typename Real>
  void add(std::span<const Real> values) {
    constexpr std::size_t kBlock = 2048;
    while (!values.empty()) {
      const std::size_t size = std::min(values.size(), kBlock);
      merge(of_block(values.first(size)));
      values = values.subspan(size);
    }
  }

  void add(long double value, std::uint64_t times) { merge({times, value, value, value, 0, 0}); }

  std::uint64_t count() const { return total_.count; }
  // The rest only if there is a value.
  long double min() const { return total_.min; }
  long double max() const { return total_.max; }
  long double mean() const { return total_.mean + total_.rest; }
  long double std() const {
    return std::sqrt(total_.squares / static_cast<long double>(total_.count));
  }

 private:
  struct Part {
    std::uint64_t count = 0;
    long double min = 0;
    long double max = 0;
    long double mean = 0;
    long double rest = 0;     // what a long double can't hold of the mean
    long double squares = 0;  // of the distances from the mean, summed
  };

  template <typename Real>
  static Part of_block(std::span<const Real> values) {
    const auto [min, max] = std::ranges::minmax(values);
    const Real largest = std::max(std::abs(min), std::abs(max));
    // Beyond these the squares of doubles overflow, or vanish.
    const bool moderate = largest == 0 || (largest > Real(1e-140) && largest < Real(1e140));
    Part part = moderate ? sums<Real, Real>(values) : sums<long double, Real>(values);
    part.min = min;
    part.max = max;
    return part;
  }

  // The sum of term(value) in four strands, which the compiler may run side by side.
  template <typename Sum, typename Real, typename Term>
  static Sum sum_of(std::span<const Real> values, Term term) {
    constexpr std::size_t kStrands = 4;
    Sum strands[kStrands] = {};
    const std::size_t even = values.size() / kStrands * kStrands;
    for (std::size_t i = 0; i < even; i += kStrands) {
      for (std::size_t k = 0; k < kStrands; ++k) {
        strands[k] += term(static_cast<Sum>(values[i + k]));
      }
    }
    for (std::size_t i = even; i < values.size(); ++i) {
      strands[i - even] += term(static_cast<Sum>(values[i]));
    }
    return (strands[0] + strands[1]) + (strands[2] + strands[3]);
  }

  template <typename Sum, typename Real>
  static Part sums(std::span<const Real> values) {
    const auto count = static_cast<Sum>(values.size());
    const Sum about = sum_of<Sum>(values, [](Sum x) { return x; }) / count;
    const Sum rest = sum_of<Sum>(values, [&](Sum x) { return x - about; });
    const Sum squares = sum_of<Sum>(values, [&](Sum x) { return (x - about) * (x - about); });
    Part part;
    part.count = values.size();
    part.mean = about;
    part.rest = rest / count;
    part.squares = std::max(Sum(0), squares - rest * rest / count);
    return part;
  }

  void merge(const Part& part) {
    if (total_.count == 0 || part.count == 0) {
      total_ = part.count == 0 ? total_ : part;
      return;
    }
    const auto before = static_cast<long double>(total_.count);
    const auto added = static_cast<long double>(part.count);
    const long double share = added / (before + added);
    const long double distance = (part.mean - total_.mean) + (part.rest - total_.rest);
    const long double step = total_.rest + distance * share;
    const long double mean = total_.mean + step;
    total_.rest = step - (mean - total_.mean);
    total_.mean = mean;
    total_.squares += part.squares + distance * distance * before * share;
    total_.min = std::min(total_.min, part.min);
    total_.max = std::max(total_.max, part.max);
    total_.count += part.count;
  }

  Part total_;
};

}  // namespace npyfs
