// nlohmann's parser keeps its own stack, but writing a value back and others' code recurse, and a
// sidecar has no reason to be deep: brackets are counted before anything is parsed.
#include "npyfs/format/sidecar.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

using Json = nlohmann::json;

// A dtype nested kMaxDtypeDepth deep takes two lists a level, within a list of fields within an
// object.
constexpr std::size_t kMaxJsonDepth = 2 * kMaxDtypeDepth + 8;

bool is_shallow(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        return false;
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

// Python's json writes NaN, Infinity and -Infinity, which JSON doesn't know: they become null.
std::string without_specials(std::string_view json) {
  std::string out;
  bool in_string = false;
  while (!json.empty()) {
    constexpr std::array<std::string_view, 3> kSpecials = {"NaN", "Infinity", "-Infinity"};
    const auto special = std::ranges::find_if(
        kSpecials, [&](std::string_view each) { return json.starts_with(each); });
    if (!in_string && special != kSpecials.end()) {
      out += "null";
      json.remove_prefix(special->size());
      continue;
    }
    in_string = in_string != (json.front() == '"');
    const bool escapes = in_string && json.front() == '\\' && json.size() > 1;
    out += json.substr(0, escapes ? 2 : 1);
    json.remove_prefix(escapes ? 2 : 1);
  }
  return out;
}

// Drops what no sidecar is read for, so that it takes no memory.
bool keep(int depth, Json::parse_event_t event, Json& parsed) {
  if (depth != 1 || event != Json::parse_event_t::key) {
    return true;
  }
  constexpr std::string_view kKeys[] = {"shape", "dtype",      "order", "fortran_order", "npyfs",
                                        "name",  "dtype_from", "descr", "files"};
  return std::ranges::find(kKeys, parsed.get_ref<const std::string&>()) != std::end(kKeys);
}

// The value if it is a string, else empty.
std::string string_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> length_of(const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
    return std::nullopt;
  }
  return value.get<std::uint64_t>();
}

// A list of lengths, or one length.
std::optional<Shape> shape_at(const Json& object) {
  const auto found = object.find("shape");
  if (found == object.end()) {
    return std::nullopt;
  }
  if (const auto only = length_of(*found)) {
    return Shape{*only};
  }
  if (!found->is_array() || found->size() > kMaxDimensions) {
    return std::nullopt;
  }
  Shape shape;
  for (const Json& value : *found) {
    const auto length = length_of(value);
    if (!length) {
      return std::nullopt;
    }
    shape.push_back(*length);
  }
  return shape;
}

// NumPy takes "f" too, and before 1.19 any word that begins so.
bool is_fortran(const Json& object) {
  const auto found = object.find("fortran_order");
  const std::string order = string_at(object, "order");
  return (found != object.end() && found->is_boolean() && found->get<bool>()) ||
         order.starts_with('F') || order.starts_with('f');
}

bool is_ours(const Json& object) {
  const auto found = object.find("npyfs");
  return found != object.end() && found->is_number_integer() && *found == 1;
}

void read_ours(const Json& object, Sidecar& sidecar) {
  sidecar.ours = true;
  sidecar.name = string_at(object, "name");
  sidecar.dtype_from = string_at(object, "dtype_from");
  if (const auto descr = object.find("descr"); descr != object.end()) {
    try {
      sidecar.descr = parse_descr_json(descr->dump());
    } catch (const Error&) {
      sidecar.descr.reset();  // no type of ours to go by; sidecar_dtype says so if it is wanted
    }
  }
  const auto files = object.find("files");
  if (files == object.end() || !files->is_object()) {
    return;
  }
  for (const auto& [suffix, size] : files->items()) {
    if (size.is_number_unsigned()) {
      sidecar.files[suffix] = size.get<std::uint64_t>();
    }
  }
}

}  // namespace

std::optional<Sidecar> parse_sidecar(Bytes json) {
  const std::string_view text = text_view(json);
  if (text.size() > kMaxSidecarSize || !is_shallow(text)) {
    return std::nullopt;
  }
  Json object = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (object.is_discarded()) {
    object = Json::parse(without_specials(text), keep, /*allow_exceptions=*/false);
  }
  if (!object.is_object()) {
    return std::nullopt;
  }
  Sidecar sidecar;
  sidecar.shape = shape_at(object);
  if (const auto dtype = object.find("dtype"); dtype != object.end() && dtype->is_string()) {
    sidecar.dtype = dtype->get<std::string>();
  }
  sidecar.fortran_order = is_fortran(object);
  if (is_ours(object)) {
    read_ours(object, sidecar);
  } else if (!sidecar.shape && !sidecar.dtype) {
    return std::nullopt;
  }
  return sidecar;
}

Dtype sidecar_dtype(const Sidecar& sidecar) {
  if (!sidecar.dtype) {
    if (!sidecar.descr) {
      throw_corrupt("the sidecar names no dtype");
    }
    return loadable(*sidecar.descr);
  }
  const Dtype named = parse_type(*sidecar.dtype);
  const bool has_order = sidecar.descr && sidecar.descr->kind != DtypeKind::kStruct &&
                         sidecar.descr->itemsize == named.itemsize;
  return has_order ? loadable(with_type(*sidecar.descr, *sidecar.dtype)) : named;
}

}  // namespace npyfs
