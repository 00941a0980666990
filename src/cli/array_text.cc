#include "cli/array_text.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "npyfs/base/text.h"

#include "cli/text.h"

namespace npyfs {
namespace {

// Lines of a label and a text, with the texts below each other.
class Lines {
 public:
  void add(std::string_view label, std::string_view text) {
    lines_ += fmt::format("  {:<10}{}", label, printable(text));
    lines_.resize(lines_.find_last_not_of(' ') + 1);
    lines_ += '\n';
  }
  std::string take() && { return std::move(lines_); }

 private:
  std::string lines_;
};

std::string size_text(std::uint64_t bytes) {
  return bytes < 1024 ? counted(bytes, "byte")
                      : fmt::format("{} ({})", human_size(bytes), counted(bytes, "byte"));
}

std::size_t named_fields(const ArrayInfo& info) {
  return static_cast<std::size_t>(
      std::ranges::count_if(*info.dtype.fields, [](const Field& field) { return !field.padding; }));
}

std::string_view origin_of_type(DtypeFrom from) {
  switch (from) {
    case DtypeFrom::kHeader:
      return "as the header says";
    case DtypeFrom::kSidecar:
      return "as the sidecar says";
    case DtypeFrom::kOption:
      return "as --dtype says";
    case DtypeFrom::kContainer:
      return "as the container says";
  }
  return "";
}

void add_fields(const ArrayInfo& info, Lines& lines) {
  constexpr std::size_t kMostShown = 20;
  std::size_t shown = 0;
  for (const Field& field : *info.dtype.fields) {
    if (field.padding) {
      continue;
    }
    if (++shown > kMostShown) {
      lines.add("",
                fmt::format("and {} more; --json has them all", named_fields(info) - kMostShown));
      return;
    }
    const auto name = dtype_name(field.dtype);
    const std::string shape = field.shape.empty() ? "" : " " + shape_text(field.shape);
    lines.add(shown == 1 ? "fields" : "",
              fmt::format("{}: {}{} at byte {}", escape_invalid_utf8(field.name),
                          name ? *name : descr_json(field.dtype), shape, field.offset));
  }
}

// The types it could be, and how to say which.
void add_candidates(const ArrayInfo& info, const std::string& key, Lines& lines) {
  const std::vector<ElementType> types = candidates(info.dtype);
  if (types.empty()) {
    return;
  }
  constexpr std::size_t kMostWidth = 72;
  std::string_view label = "could be";
  std::string names;
  for (const ElementType type : types) {
    const std::string_view name = element_name(type);
    if (names.size() + name.size() > kMostWidth) {
      lines.add(std::exchange(label, ""), names);
      names.clear();
    }
    names += std::string(name) + (type == types.back() ? "" : ", ");
  }
  lines.add(label, names);
  // The commonest in checkpoints, where it is one of them.
  const bool usual = std::ranges::find(types, ElementType::kFloat8E4m3fn) != types.end();
  lines.add("", fmt::format("the header doesn't tell which; settle it with --dtype '{}={}'", key,
                            element_name(usual ? ElementType::kFloat8E4m3fn : types.front())));
}

void add_known(const ArrayInfo& info, const std::string& key, Lines& lines) {
  const std::string descr = info.dtype.fields != nullptr ? "" : ", descr " + info.dtype.descr;
  lines.add("type",
            fmt::format("{}, {}{}", type_text(info), origin_of_type(info.dtype_from), descr));
  if (info.dtype.fields != nullptr) {
    add_fields(info, lines);
  }
  add_candidates(info, key, lines);
  lines.add("shape", fmt::format("{}, {} order", shape_text(info.shape),
                                 info.fortran_order ? "Fortran" : "C"));
  if (info.pickled) {
    lines.add("elements",
              fmt::format("{}, pickled objects; npyfs never unpickles them", grouped(info.count)));
  } else {
    lines.add("elements",
              fmt::format("{} of {}: {}", grouped(info.count), counted(info.dtype.itemsize, "byte"),
                          size_text(info.nbytes)));
  }
  lines.add("header",
            info.header.empty()
                ? fmt::format("version {}.{}, data from byte {}", info.npy_major, info.npy_minor,
                              info.data_offset)
                : fmt::format("none stored; NAME.npy gets one of {} bytes", info.header.size()));
}

std::string storage_text(const Origin& origin, std::uint64_t size) {
  std::string text = origin.file;
  if (!origin.member.empty()) {
    text += ": " + escape_invalid_utf8(origin.member);
  }
  text += ", " + origin.compression + ", " + size_text(origin.stored_bytes);
  if (origin.stored_bytes != size && size > 0) {
    text += fmt::format(
        ", {:.1f} %", 100.0 * static_cast<double>(origin.stored_bytes) / static_cast<double>(size));
  }
  if (origin.offset) {
    text += fmt::format(", at byte {}", grouped(*origin.offset));
  }
  return text;
}

}  // namespace

std::string type_text(const ArrayInfo& info) {
  if (!info.known) {
    return "-";
  }
  if (info.dtype.fields != nullptr) {
    return counted(named_fields(info), "field");
  }
  if (info.pickled) {
    return "object";
  }
  if (!candidates(info.dtype).empty()) {
    return info.dtype.descr + "?";
  }
  const auto name = dtype_name(info.dtype);
  return name ? *name : info.dtype.descr;
}

std::string describe_array(const Views& views, ItemId array) {
  const Catalog& catalog = views.catalog();
  const ArrayInfo& info = catalog.info(array);
  const std::string key = escape_invalid_utf8(catalog.key(array));
  Lines lines;
  if (info.known) {
    add_known(info, key, lines);
  }
  const Store& store = catalog.store(array);
  const std::uint32_t index = catalog.store_index(array);
  lines.add("stored", storage_text(store.origin(index), store.size(index)));
  const std::string name(catalog.name(array));
  std::string files;
  for (std::size_t i = 0; i < kViews; ++i) {
    const View view = static_cast<View>(i);
    if (views.exists(array, view)) {
      files += (files.empty() ? "" : "  ") + name + std::string(suffix(view));
    }
  }
  lines.add("files", files);
  const std::vector<std::string> scale_keys = scales_of(catalog, array);
  if (!scale_keys.empty()) {
    std::string scales;
    for (const std::string& scale : scale_keys) {
      scales += (scales.empty() ? "" : ", ") + scale;
    }
    lines.add("scales", scales + "; not applied to the values");
  }
  for (const std::string& note : info.notes) {
    lines.add("note", note);
  }
  if (info.error) {
    lines.add(info.damaged || !info.known ? "damaged" : "error", info.error->what());
  }
  const std::string path = catalog.path(array);
  const std::string title = path == key ? printable(key) : printable(key + "  (in " + path + ")");
  return title + "\n" + std::move(lines).take();
}

}  // namespace npyfs
