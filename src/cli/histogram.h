// A histogram as lines of a terminal, one bin each.
#pragma once

#include <string>

#include "npyfs/tree/value_stats.h"

namespace npyfs {

// A line is where the bin begins, or the one integer it holds, a bar, and how many values it has.
// `utf8`: draw bars from block elements, to an eighth of a character, else from '#'. The longest
// has 40 characters; a bin that isn't empty has some bar. "" without bins.
std::string draw_histogram(const Histogram& histogram, bool utf8);

// Whether the locale that LC_ALL, LC_CTYPE or LANG names, in this order, is one of UTF-8.
bool terminal_takes_utf8();

}  // namespace npyfs
