// What the values of an array are like: extremes, mean, spread, what isn't finite, a histogram.
//
// Types of one or two bytes (bool, int8, float16, bfloat16, float8 …) take one pass, which counts
// how often each code occurs; everything follows from that. The others take two, since the bins of
// a histogram aren't known before the extremes are. Memory doesn't grow with the array.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "npyfs/tree/views.h"

namespace npyfs {

// Equal bins from `from` to `to`. Where integers span fewer values than there are bins, each has
// its own, and the bins begin half below it. A value between two bins belongs to the upper one.
struct Histogram {
  long double from = 0;
  long double to = 0;
  std::vector<std::uint64_t> counts;  // empty if there is no finite value
};

// long double holds every int64 and uint64 exactly. What isn't finite is left out of min, max, mean
// and std. Of complex numbers all of them are those of the absolute value; one with a NaN part
// counts as NaN, else one with an infinite part as infinite.
struct ValueStats {
  std::uint64_t count = 0;   // elements
  std::uint64_t finite = 0;  // of those
  std::uint64_t zeros = 0;
  std::uint64_t nan = 0;  // NaT of datetimes and timedeltas
  std::uint64_t positive_inf = 0;
  std::uint64_t negative_inf = 0;
  // Only if finite > 0; 0 otherwise. May be infinite where long double is too small for them.
  long double min = 0;
  long double max = 0;
  long double mean = 0;
  long double std = 0;  // of the population, as np.std has it
  // Codes that occur, for types of one or two bytes; unused high bits don't count.
  std::optional<std::uint64_t> distinct;
  Histogram histogram;
};

// Why there can be no figures of such an array, for a person, or nullopt.
std::optional<std::string> why_no_stats(const ArrayInfo& info);

// Bytes that value_stats will read, or a little more: what `done` adds up to. Same precondition.
std::uint64_t value_stats_bytes(const ArrayInfo& info);

// Tells `done` after each piece, of at most 256 KiB, how many bytes were read. Precondition:
// !why_no_stats(info). Throws Error if the bytes can't be had.
ValueStats value_stats(const Views& views, ItemId array,
                       const std::function<void(std::uint64_t)>& done);

}  // namespace npyfs
