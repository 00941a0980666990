#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "cli/array_text.h"
#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/source_tree.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

// What stands behind an array on its line; "" if all is well.
std::string mark_of(const ArrayInfo& info) {
  return info.error ? std::string("! ") + info.error->what() : "";
}

void print_names(const Catalog& catalog, const Selection& selection, std::ostream& out) {
  for (const ItemId array : selection.arrays) {
    const std::string mark = mark_of(catalog.info(array));
    out << printable(catalog.path(array) + (mark.empty() ? "" : "  " + mark)) << '\n';
  }
  for (const Problem* problem : selection.missing) {
    out << printable(missing_key(*problem))
        << "  ! missing: " << printable(text_without_place(*problem)) << '\n';
  }
}

Table::Row row_of(const Catalog& catalog, ItemId array) {
  const ArrayInfo& info = catalog.info(array);
  const Origin origin = catalog.store(array).origin(catalog.store_index(array));
  const bool has_size = info.known && !info.pickled;
  Table::Row row = {printable(catalog.path(array)),
                    type_text(info),
                    info.known ? shape_text(info.shape) : "-",
                    has_size ? human_size(info.nbytes) : "-",
                    human_size(origin.stored_bytes),
                    origin.compression};
  if (const std::string mark = mark_of(info); !mark.empty()) {
    row.push_back(printable(mark));
  }
  return row;
}

void print_table(const Catalog& catalog, const Selection& selection, std::ostream& out) {
  Table table({{"name"},
               {"dtype", Align::kLeft, 20},
               {"shape", Align::kRight, 30},
               {"bytes", Align::kRight},
               {"stored", Align::kRight},
               {"compression"}});
  std::uint64_t bytes = 0;
  std::uint64_t stored = 0;
  std::uint64_t faulty = 0;
  for (const ItemId array : selection.arrays) {
    table.measure(row_of(catalog, array));
    bytes += catalog.info(array).nbytes;
    stored += catalog.store(array).origin(catalog.store_index(array)).stored_bytes;
    faulty += catalog.info(array).error ? 1 : 0;
  }
  table.print_titles(out);
  for (const ItemId array : selection.arrays) {
    table.print(row_of(catalog, array), out);
  }
  for (const Problem* problem : selection.missing) {
    table.print({printable(missing_key(*problem)), "-", "-", "-", "-", "-",
                 "! missing: " + printable(text_without_place(*problem))},
                out);
  }
  out << fmt::format("{}, {}, {} stored", counted(selection.arrays.size(), "array"),
                     human_size(bytes), human_size(stored));
  out << (faulty > 0 ? fmt::format(", {} with an error", grouped(faulty)) : "");
  out << (selection.missing.empty()
              ? ""
              : fmt::format(", {} missing", grouped(selection.missing.size())));
  out << '\n';
}

}  // namespace

int ls_verb(Words words, std::ostream& out, std::ostream& err) {
  Command command(
      "ls", "ls [-l] [--json] [OPTIONS] SOURCE [GLOB...]",
      "Lists the arrays of a .npz, a .npy or a directory of such by their paths in a\n"
      "mount, without suffix and in the order of the source. A damaged or missing array\n"
      "is marked with '!' and what is wrong. Plain files aren't listed.");
  bool is_long = false;
  bool json = false;
  std::string source;
  std::vector<std::string> globs;
  command.argument("SOURCE", source, "an archive, a .npy file or a directory");
  command.arguments("GLOB", globs, "only arrays whose key fits; '*' crosses '/'");
  command.flag("-l,--long", is_long,
               "a table: name, dtype, shape, bytes, bytes as stored,\ncompression");
  command.flag("--json", json, "the entries of .npyfs/manifest.json, with exact sizes");
  ReadingOptions reading(command);
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", source);
  const auto tree = open_source(source, reading.options());
  const Selection selection = select_arrays(tree->catalog(), globs);
  if (json) {
    write_json_list(tree->views(), selection.arrays, out);
  } else if (is_long) {
    print_table(tree->catalog(), selection, out);
  } else {
    print_names(tree->catalog(), selection, out);
  }
  for (const std::string& glob : selection.unmatched) {
    err << "npyfs: " << source << ": no array's key fits '" << printable(glob) << "'\n";
  }
  return selection.unmatched.empty() ? 0 : 1;
}

}  // namespace npyfs
