#include <algorithm>
#include <cstddef>
#include <ostream>
#include <vector>

#include "npyfs/base/error.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/source_tree.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

// Throws Error if a piece can't be read. What can't be written is an exception of `out`, if it has
// one.
void copy(const Source& source, std::ostream& out) {
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(std::min<std::uint64_t>(source.size(), kPiece)));
  for (std::uint64_t at = 0; at < source.size() && out;) {
    const std::size_t piece =
        static_cast<std::size_t>(std::min<std::uint64_t>(source.size() - at, buffer.size()));
    source.read(at, std::span(buffer).first(piece));
    out << text_view(Bytes(buffer).first(piece));
    at += piece;
  }
}

}  // namespace

int cat_verb(Words words, std::ostream& out, std::ostream& err) {
  Command command(
      "cat", "cat [OPTIONS] SOURCE PATH...",
      "Writes files of a mount to standard output, without mounting: PATH is a path in the\n"
      "mount with its suffix (w1.npy, w1.raw, w1.u8view.npy, w1.meta.json), a plain file,\n"
      ".npyfs/manifest.json or .npyfs/errors.json.");
  std::string source;
  std::vector<std::string> paths;
  command.argument("SOURCE", source, "an archive, a .npy file or a directory");
  command.arguments("PATH", paths, "a file in the mount");
  ReadingOptions reading(command);
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", source);
  command.require("PATH", paths.empty() ? "" : paths.front());
  const auto tree = open_source(source, reading.options());
  int status = 0;
  for (const std::string& path : paths) {
    SourcePtr content;
    try {
      content = tree->open(find_file(*tree, path));
      copy(*content, out);
    } catch (const OutputError&) {
      throw;
    } catch (const Error& e) {
      err << "npyfs: " << located(source, path, e.what()) << '\n';
      status = 1;
    }
  }
  return status;
}

}  // namespace npyfs
