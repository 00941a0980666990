#include "npyfs/tree/meta.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"
#include "npyfs/format/json_text.h"

namespace npyfs {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string bool_text(bool value) { return value ? "true" : "false"; }

std::string numbers_json(ShapeView values) {
  std::string text = "[";
  for (const std::uint64_t value : values) {
    text += text.size() > 1 ? ", " : "";
    text += number(value);
  }
  return text + "]";
}

template <typename Strings>
std::string strings_json(const Strings& values) {
  std::string text = "[";
  for (const auto& value : values) {
    text += text.size() > 1 ? ", " : "";
    append_json_string(text, value);
  }
  return text + "]";
}

std::string dtype_json(const Dtype& dtype) {
  const auto name = dtype_name(dtype);
  return name ? json_quote(*name) : "null";
}

// Writes the members of one object, with the commas between them.
class ObjectWriter {
 public:
  explicit ObjectWriter(TextSink& sink) : sink_(sink) {}

  void add(std::string_view key, std::string_view json_value) {
    sink_.write(first_ ? "{\"" : ", \"");
    first_ = false;
    sink_.write(key);
    sink_.write("\": ");
    sink_.write(json_value);
  }
  void finish() { sink_.write(first_ ? "{}" : "}"); }

 private:
  TextSink& sink_;
  bool first_ = true;
};

std::string files_json(const Views& views, ItemId array) {
  StringSink sink;
  ObjectWriter out(sink);
  for (std::size_t i = 0; i < kViews; ++i) {
    const View view = static_cast<View>(i);
    if (view != View::kMeta && views.exists(array, view)) {
      out.add(suffix(view).substr(1), number(views.size(array, view)));
    }
  }
  out.finish();
  return sink.text();
}

std::string fields_json(const std::vector<Field>& fields) {
  std::string text = "[";
  for (const Field& field : fields) {
    if (field.padding) {
      continue;
    }
    text += text.size() > 1 ? ", " : "";
    StringSink sink;
    ObjectWriter out(sink);
    out.add("name", json_quote(field.name));
    if (field.title) {
      out.add("title", json_quote(*field.title));
    }
    out.add("dtype", dtype_json(field.dtype));
    out.add("descr", descr_json(field.dtype));
    if (!field.shape.empty()) {
      out.add("shape", numbers_json(field.shape));
    }
    out.add("offset", number(field.offset));
    out.finish();
    text += sink.text();
  }
  return text + "]";
}

// What an array says of its type, and of how to settle it.
void write_type_remarks(const Catalog& catalog, ItemId array, ObjectWriter& out) {
  const ArrayInfo& info = catalog.info(array);
  if (info.dtype.fields != nullptr) {
    out.add("fields", fields_json(*info.dtype.fields));
  }
  std::vector<std::string_view> names;
  for (const ElementType type : candidates(info.dtype)) {
    names.push_back(element_name(type));
  }
  if (!names.empty()) {
    out.add("candidates", strings_json(names));
  }
  const std::vector<std::string> scales = scales_of(catalog, array);
  if (!scales.empty()) {
    out.add("scales_applied", "false");
    out.add("scales", strings_json(scales));
  }
}

void write_members(const Views& views, ItemId array, ObjectWriter& out) {
  const ArrayInfo& info = views.catalog().info(array);
  out.add("npyfs", "1");
  out.add("name", json_quote(views.catalog().key(array)));
  if (info.known) {
    out.add("dtype", dtype_json(info.dtype));
    out.add("dtype_from", json_quote(dtype_from_name(info.dtype_from)));
    const bool synthesised = !info.header.empty();
    out.add("descr", descr_json(synthesised ? loadable(info.dtype) : info.dtype));
    out.add("shape", numbers_json(info.shape));
    out.add("fortran_order", bool_text(info.fortran_order));
    out.add("itemsize", number(info.dtype.itemsize));
    out.add("size", number(info.count));
    if (!info.pickled) {
      out.add("nbytes", number(info.nbytes));
    }
    out.add("data_offset", number(info.data_offset));
    out.add("npy_version", json_quote(number(info.npy_major) + "." + number(info.npy_minor)));
  }
  out.add("files", files_json(views, array));
  if (info.known) {
    write_type_remarks(views.catalog(), array, out);
  }
  if (!info.notes.empty()) {
    out.add("notes", strings_json(info.notes));
  }
  if (info.pickled) {
    out.add("pickled", "true");
  }
  if (info.error) {
    out.add("error", json_quote(info.error->what()));
  }
}

std::string origin_json(const Origin& origin) {
  StringSink sink;
  ObjectWriter out(sink);
  out.add("file", json_quote(origin.file));
  out.add("format", json_quote(origin.format));
  if (!origin.member.empty() || origin.format == "npz") {
    out.add("member", json_quote(origin.member));
  }
  if (origin.offset) {
    out.add("offset", number(*origin.offset));
  }
  out.add("compression", json_quote(origin.compression));
  out.add("stored_bytes", number(origin.stored_bytes));
  if (origin.crc32) {
    out.add("crc32", number(*origin.crc32));
  }
  out.finish();
  return sink.text();
}

// The manifest in runs of kRun entries, whose places are known.
class Manifest final : public Source {
 public:
  explicit Manifest(const Views& views) : views_(views) {
    const Catalog& catalog = views.catalog();
    std::uint64_t arrays = 0;
    std::uint64_t at = kBegin.size();
    CountingSink sink;
    for (ItemId i = 1; i < catalog.count(); ++i) {
      if (catalog.kind(i) != ItemKind::kArray) {
        continue;
      }
      if (arrays % kRun == 0) {
        runs_.push_back({at + sink.size(), i});
      }
      write_entry(i, arrays == 0, sink);
      ++arrays;
    }
    size_ = at + sink.size() + kEnd.size();
  }

  std::uint64_t size() const override { return size_; }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    auto run = std::ranges::upper_bound(runs_, offset, {}, &Run::offset);
    while (!dst.empty()) {
      const std::string text = text_before(run);
      const std::uint64_t begin = run == runs_.begin() ? 0 : std::prev(run)->offset;
      const std::uint64_t skipped = offset - begin;
      const std::size_t piece = std::min<std::size_t>(dst.size(), text.size() - skipped);
      std::memcpy(dst.data(), text.data() + skipped, piece);
      dst = dst.subspan(piece);
      offset += piece;
      if (run != runs_.end()) {
        ++run;
      }
    }
  }

 private:
  static constexpr std::uint64_t kRun = 64;
  static constexpr std::string_view kBegin = "[\n";
  static constexpr std::string_view kEnd = "\n]\n";

  struct Run {
    std::uint64_t offset = 0;  // of its first byte
    ItemId first = 0;
  };

  void write_entry(ItemId array, bool is_first, TextSink& sink) const {
    sink.write(is_first ? "" : ",\n");
    write_manifest_entry(views_, array, sink);
  }

  // The text that ends where `run` begins: of the run before it, the beginning, or up to the end.
  std::string text_before(std::vector<Run>::const_iterator run) const {
    StringSink sink;
    if (run == runs_.begin()) {
      sink.write(kBegin);
    } else {
      const Catalog& catalog = views_.catalog();
      const Run& wanted = *std::prev(run);
      const ItemId end = run == runs_.end() ? catalog.count() : run->first;
      for (ItemId i = wanted.first; i < end; ++i) {
        if (catalog.kind(i) == ItemKind::kArray) {
          write_entry(i, i == runs_.front().first, sink);
        }
      }
    }
    if (run == runs_.end()) {
      sink.write(kEnd);
    }
    return std::move(sink.text());
  }

  const Views& views_;
  std::vector<Run> runs_;
  std::uint64_t size_ = 0;
};

}  // namespace

void write_meta(const Views& views, ItemId array, TextSink& sink) {
  ObjectWriter out(sink);
  write_members(views, array, out);
  out.finish();
  sink.write("\n");
}

void write_manifest_entry(const Views& views, ItemId array, TextSink& sink) {
  const Catalog& catalog = views.catalog();
  ObjectWriter out(sink);
  write_members(views, array, out);
  out.add("path", json_quote(catalog.path(array)));
  out.add("source", origin_json(catalog.store(array).origin(catalog.store_index(array))));
  out.finish();
}

std::string problems_json(const std::vector<Problem>& problems) {
  StringSink sink;
  sink.write("[");
  bool first = true;
  for (const Problem& problem : problems) {
    sink.write(first ? "\n" : ",\n");
    first = false;
    ObjectWriter out(sink);
    out.add("where", json_quote(problem.where));
    out.add("what", json_quote(problem.what));
    out.add("errno", json_quote(errno_name(problem.errno_value)));
    out.finish();
  }
  sink.write(first ? "]\n" : "\n]\n");
  return std::move(sink.text());
}

SourcePtr manifest(const Views& views) { return std::make_shared<Manifest>(views); }

}  // namespace npyfs
