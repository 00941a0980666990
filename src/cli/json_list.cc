#include "cli/json_list.h"

#include <ostream>

#include "npyfs/tree/meta.h"

namespace npyfs {
namespace {

class StreamSink final : public TextSink {
 public:
  explicit StreamSink(std::ostream& out) : out_(out) {}
  void write(std::string_view text) override { out_ << text; }

 private:
  std::ostream& out_;
};

}  // namespace

void write_json_list(const Views& views, std::span<const ItemId> arrays, std::ostream& out) {
  StreamSink sink(out);
  out << "[\n";
  bool first = true;
  for (const ItemId array : arrays) {
    out << (first ? "" : ",\n");
    first = false;
    write_manifest_entry(views, array, sink);
  }
  out << "\n]\n";
}

}  // namespace npyfs
