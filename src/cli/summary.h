// A source as a whole: what it is, how many arrays of which types, how large, and what is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "npyfs/tree/catalog.h"

namespace npyfs {

struct Summary {
  std::string kind;  // "npz", "npy", "raw" or "directory"
  std::uint64_t arrays = 0;
  std::uint64_t damaged = 0;  // of those
  std::uint64_t missing = 0;  // that an index names but aren't there
  std::uint64_t files = 0;    // that are no arrays
  std::uint64_t bytes = 0;    // of the arrays' data
  std::uint64_t stored_bytes = 0;
  std::map<std::string, std::uint64_t> types;  // how many arrays of each
};

// `is_directory`: what was opened.
Summary summarize(const Catalog& catalog, bool is_directory);

// For people; `source` as the user named it.
std::string summary_text(const Summary& summary, const Catalog& catalog, const std::string& source);

// One JSON object and a newline, with all problems.
std::string summary_json(const Summary& summary, const Catalog& catalog, const std::string& source);

}  // namespace npyfs
