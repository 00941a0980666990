#include "cli/summary.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "npyfs/format/json_text.h"
#include "npyfs/tree/meta.h"

#include "cli/array_text.h"
#include "cli/source_tree.h"
#include "cli/text.h"

namespace npyfs {
namespace {

constexpr std::size_t kMostProblems = 10;  // shown to people

std::string_view kind_text(const std::string& kind) {
  return kind == "npz"         ? ".npz archive"
         : kind == "npy"       ? ".npy file"
         : kind == "directory" ? "directory"
                               : "header-less array with a sidecar";
}

std::string with_exact(std::uint64_t bytes) {
  return bytes < 1024 ? human_size(bytes)
                      : fmt::format("{} ({})", human_size(bytes), grouped(bytes));
}

// The commonest first.
std::vector<std::pair<std::string, std::uint64_t>> by_count(const Summary& summary) {
  std::vector<std::pair<std::string, std::uint64_t>> types(summary.types.begin(),
                                                           summary.types.end());
  std::ranges::stable_sort(types, std::ranges::greater(),
                           &std::pair<std::string, std::uint64_t>::second);
  return types;
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("  {:<12}{}\n", label, text);
}

}  // namespace

Summary summarize(const Catalog& catalog, bool is_directory) {
  Summary summary;
  summary.kind = is_directory ? "directory" : "npz";
  for (ItemId item = 0; item < catalog.count(); ++item) {
    if (catalog.kind(item) == ItemKind::kFile) {
      summary.files += catalog.hidden(item) ? 0 : 1;
    }
    if (catalog.kind(item) != ItemKind::kArray) {
      continue;
    }
    const ArrayInfo& info = catalog.info(item);
    const Origin origin = catalog.store(item).origin(catalog.store_index(item));
    if (summary.arrays == 0 && !is_directory) {
      summary.kind = origin.format;
    }
    ++summary.arrays;
    summary.damaged += info.damaged || !info.known ? 1 : 0;
    summary.bytes += info.nbytes;
    summary.stored_bytes += origin.stored_bytes;
    ++summary.types[info.known ? type_text(info) : "unknown"];
  }
  for (const Problem& problem : catalog.problems()) {
    summary.missing += missing_key(problem).empty() ? 0 : 1;
  }
  return summary;
}

std::string summary_text(const Summary& summary, const Catalog& catalog,
                         const std::string& source) {
  std::string text = fmt::format("{}: {}\n", printable(source), kind_text(summary.kind));
  std::string arrays = grouped(summary.arrays);
  arrays += summary.damaged > 0 ? fmt::format(", {} damaged", grouped(summary.damaged)) : "";
  arrays += summary.missing > 0 ? fmt::format(", {} more missing", grouped(summary.missing)) : "";
  text += line("arrays", arrays);
  text += line("bytes", with_exact(summary.bytes));
  text += line("stored", with_exact(summary.stored_bytes));
  std::string label = "types";
  for (const auto& [type, count] : by_count(summary)) {
    text += line(std::exchange(label, ""), fmt::format("{:<16} {}", type, grouped(count)));
  }
  if (summary.files > 0) {
    text += line("other files", grouped(summary.files));
  }
  const std::vector<Problem>& problems = catalog.problems();
  label = "problems";
  for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i) {
    text += line(std::exchange(label, ""), located(problems[i].where, "", problems[i].what));
  }
  if (problems.size() > kMostProblems) {
    text += line("", fmt::format("and {} more; --json has them all",
                                 grouped(problems.size() - kMostProblems)));
  }
  return text;
}

std::string summary_json(const Summary& summary, const Catalog& catalog,
                         const std::string& source) {
  std::string types;
  for (const auto& [type, count] : by_count(summary)) {
    types += fmt::format("{}{}: {}", types.empty() ? "" : ", ", json_quote(type), count);
  }
  std::string problems = problems_json(catalog.problems());
  problems.resize(problems.find_last_not_of('\n') + 1);
  return fmt::format(
      "{{\"source\": {}, \"kind\": {}, \"arrays\": {}, \"damaged\": {}, \"missing\": {}, "
      "\"other_files\": {}, \"nbytes\": {}, \"stored_bytes\": {}, \"types\": {{{}}}, "
      "\"problems\": {}}}\n",
      json_quote(source), json_quote(summary.kind), summary.arrays, summary.damaged,
      summary.missing, summary.files, summary.bytes, summary.stored_bytes, types, problems);
}

}  // namespace npyfs
