// The figures of `info --stats`, for people and as JSON.
#pragma once

#include <string>

#include "npyfs/tree/value_stats.h"

namespace npyfs {

// Lines to go below describe_array(), with the histogram. `utf8`: see draw_histogram().
std::string stats_text(const ValueStats& stats, const Dtype& dtype, bool utf8);

// The same as a JSON object. min, max, mean, std and the histogram are null where no value is
// finite, and a figure is null that is too large for a number.
std::string stats_json(const ValueStats& stats, const Dtype& dtype);

}  // namespace npyfs
