#include <filesystem>
#include <ostream>
#include <variant>

#include "npyfs/base/error.h"
#include "npyfs/format/json_text.h"
#include "npyfs/tree/meta.h"
#include "npyfs/tree/value_stats.h"

#include "cli/array_text.h"
#include "cli/command.h"
#include "cli/histogram.h"
#include "cli/json_list.h"
#include "cli/progress.h"
#include "cli/source_tree.h"
#include "cli/stats_text.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "cli/usage.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

// Comparing a name with more keys than that takes too long to be worth it.
constexpr ItemId kMostCompared = 20'000;

std::vector<std::string> keys_to_suggest(const Catalog& catalog) {
  std::vector<std::string> keys;
  for (ItemId item = 0; item < catalog.count() && catalog.count() <= kMostCompared; ++item) {
    if (catalog.kind(item) == ItemKind::kArray) {
      keys.push_back(printable(catalog.key(item)));
    }
  }
  return keys;
}

void print_summary(const Catalog& catalog, const std::string& source, bool json,
                   std::ostream& out) {
  const Summary summary = summarize(catalog, std::filesystem::is_directory(source));
  out << (json ? summary_json(summary, catalog, source) : summary_text(summary, catalog, source));
}

// What `info` adds to an array: nothing, unless it is to look at the values.
class Figures {
 public:
  Figures(const Views& views, std::string source, bool wanted, std::ostream& err)
      : views_(views), source_(std::move(source)), wanted_(wanted), err_(err) {}

  bool failed() const { return failed_; }

  // Lines below describe_array().
  std::string text(ItemId array) {
    if (!wanted_) {
      return "";
    }
    const Found found = find(array);
    if (const auto* why_not = std::get_if<std::string>(&found)) {
      return "  values    no figures: " + printable(*why_not) + "\n";
    }
    return stats_text(std::get<ValueStats>(found), dtype(array), terminal_takes_utf8());
  }

  // The value of a manifest entry's "stats".
  std::string json(ItemId array) {
    const Found found = find(array);
    if (const auto* why_not = std::get_if<std::string>(&found)) {
      return "{\"error\": " + json_quote(*why_not) + "}";
    }
    return stats_json(std::get<ValueStats>(found), dtype(array));
  }

 private:
  using Found = std::variant<ValueStats, std::string>;  // or why there is none

  const Dtype& dtype(ItemId array) const { return views_.catalog().info(array).dtype; }

  Found find(ItemId array) {
    const ArrayInfo& info = views_.catalog().info(array);
    if (const auto why_not = why_no_stats(info)) {
      return *why_not;
    }
    Progress progress(terminal_of(err_), value_stats_bytes(info));
    try {
      return value_stats(views_, array, [&](std::uint64_t bytes) { progress.add(bytes); });
    } catch (const Error& e) {
      progress.clear();
      err_ << "npyfs: " << located(source_, views_.catalog().path(array), e.what()) << '\n';
      failed_ = true;
      return e.what();
    }
  }

  const Views& views_;
  std::string source_;
  bool wanted_;
  std::ostream& err_;
  bool failed_ = false;
};

// Like write_json_list(), with "stats" as the last key of each entry.
void print_json_with_stats(const Views& views, std::span<const ItemId> arrays, Figures& figures,
                           std::ostream& out) {
  out << "[\n";
  bool first = true;
  for (const ItemId array : arrays) {
    StringSink entry;
    write_manifest_entry(views, array, entry);
    entry.text().pop_back();
    out << (first ? "" : ",\n") << entry.text() << ", \"stats\": " << figures.json(array) << '}';
    first = false;
  }
  out << "\n]\n";
}

void print_arrays(const Views& views, const Selection& selection, Figures& figures,
                  std::ostream& out) {
  bool first = true;
  for (const ItemId array : selection.arrays) {
    out << (first ? "" : "\n") << describe_array(views, array) << figures.text(array);
    first = false;
  }
  for (const Problem* problem : selection.missing) {
    out << (first ? "" : "\n") << printable(missing_key(*problem)) << "\n  missing   "
        << printable(text_without_place(*problem)) << '\n';
    first = false;
  }
}

}  // namespace

int info_verb(Words words, std::ostream& out, std::ostream& err) {
  Command command(
      "info", "info [--json] [--stats] [OPTIONS] SOURCE [NAME...]",
      "Tells what a source is: its arrays, sizes, types and problems. With NAME, what that\n"
      "array is: type and where it came from, shape, order, sizes, where its bytes lie, and\n"
      "how to settle a type that the header leaves open.");
  bool json = false;
  bool stats = false;
  std::string source;
  std::vector<std::string> names;
  command.argument("SOURCE", source, "an archive, a .npy file or a directory");
  command.arguments("NAME", names,
                    "a key, or a path in the mount with or without suffix; may\nbe a glob");
  command.flag("--json", json,
               "a JSON object of the summary; with NAME, a list of manifest\nentries");
  command.flag("--stats", stats,
               "read the values of each NAME: min, max, mean, std, zeros,\nNaN, inf, a histogram");
  ReadingOptions reading(command);
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", source);
  if (stats && names.empty()) {
    command.refuse("--stats reads all values of an array, so it needs a NAME; '*' takes all");
  }
  const auto tree = open_source(source, reading.options());
  const Catalog& catalog = tree->catalog();
  if (names.empty()) {
    print_summary(catalog, source, json, out);
    return 0;
  }
  const Selection selection = select_by_name(catalog, names);
  Figures figures(tree->views(), source, stats, err);
  if (json && stats) {
    print_json_with_stats(tree->views(), selection.arrays, figures, out);
  } else if (json) {
    write_json_list(tree->views(), selection.arrays, out);
  } else {
    print_arrays(tree->views(), selection, figures, out);
  }
  for (const std::string& name : selection.unmatched) {
    const std::string near = did_you_mean(name, keys_to_suggest(catalog));
    err << "npyfs: " << source << ": no array '" << printable(name) << "'"
        << (near.empty() ? "; 'npyfs ls' lists them" : near) << '\n';
  }
  return selection.unmatched.empty() && !figures.failed() ? 0 : 1;
}

}  // namespace npyfs
