#include <filesystem>
#include <ostream>

#include "cli/array_text.h"
#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/source_tree.h"
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

void print_arrays(const Views& views, const Selection& selection, std::ostream& out) {
  bool first = true;
  for (const ItemId array : selection.arrays) {
    out << (first ? "" : "\n") << describe_array(views, array);
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
      "info", "info [--json] [OPTIONS] SOURCE [NAME...]",
      "Tells what a source is: its arrays, sizes, types and problems. With NAME, what that\n"
      "array is: type and where it came from, shape, order, sizes, where its bytes lie, and\n"
      "how to settle a type that the header leaves open.");
  bool json = false;
  std::string source;
  std::vector<std::string> names;
  command.argument("SOURCE", source, "an archive, a .npy file or a directory");
  command.arguments("NAME", names,
                    "a key, or a path in the mount with or without suffix; may\nbe a glob");
  command.flag("--json", json,
               "a JSON object of the summary; with NAME, a list of manifest\nentries");
  ReadingOptions reading(command);
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", source);
  const auto tree = open_source(source, reading.options());
  const Catalog& catalog = tree->catalog();
  if (names.empty()) {
    print_summary(catalog, source, json, out);
    return 0;
  }
  const Selection selection = select_by_name(catalog, names);
  if (json) {
    write_json_list(tree->views(), selection.arrays, out);
  } else {
    print_arrays(tree->views(), selection, out);
  }
  for (const std::string& name : selection.unmatched) {
    const std::string near = did_you_mean(name, keys_to_suggest(catalog));
    err << "npyfs: " << source << ": no array '" << printable(name) << "'"
        << (near.empty() ? "; 'npyfs ls' lists them" : near) << '\n';
  }
  return selection.unmatched.empty() ? 0 : 1;
}

}  // namespace npyfs
