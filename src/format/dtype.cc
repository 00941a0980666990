#include "npyfs/format/dtype.h"

#include <algorithm>
#include <array>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/format/json_text.h"

#include "format/descr.h"
#include "format/python_literal.h"
#include "format/time_unit.h"
#include "format/type_text.h"

namespace npyfs {
namespace {

// How lists of fields are written in one language or the other.
struct Syntax {
  char open_tuple;
  char close_tuple;
  bool comma_after_one;  // (3,)
  void (*append_string)(std::string& out, std::string_view text);
};

constexpr Syntax kJson = {'[', ']', false, append_json_string};
constexpr Syntax kPython = {'(', ')', true, append_python_string};

// Modules of the names that people and programs write down: str(tensor.dtype) is "torch.bfloat16".
constexpr std::array<std::string_view, 5> kModules = {"torch.", "numpy.", "np.", "ml_dtypes.",
                                                      "jax.numpy."};

std::string_view without_module(std::string_view type) {
  const auto module = std::ranges::find_if(
      kModules, [type](std::string_view name) { return type.starts_with(name); });
  return module == kModules.end() ? type : type.substr(module->size());
}

void append_shape(std::string& out, const Shape& shape, const Syntax& syntax) {
  out += syntax.open_tuple;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += i == 0 ? "" : ", ";
    out += std::to_string(shape[i]);
  }
  out += shape.size() == 1 && syntax.comma_after_one ? "," : "";
  out += syntax.close_tuple;
}

void append_descr(std::string& out, const Dtype& dtype, const Syntax& syntax);

void append_field(std::string& out, const Field& field, const Syntax& syntax) {
  out += syntax.open_tuple;
  if (field.title) {
    out += syntax.open_tuple;
    syntax.append_string(out, *field.title);
    out += ", ";
    syntax.append_string(out, field.name);
    out += syntax.close_tuple;
  } else {
    syntax.append_string(out, field.name);
  }
  out += ", ";
  append_descr(out, field.dtype, syntax);
  if (!field.shape.empty()) {
    out += ", ";
    append_shape(out, field.shape, syntax);
  }
  out += syntax.close_tuple;
}

// As deep as the type is nested: at most kMaxDtypeDepth.
void append_descr(std::string& out, const Dtype& dtype, const Syntax& syntax) {
  if (dtype.kind != DtypeKind::kStruct || !dtype.descr.empty()) {
    syntax.append_string(out, dtype.descr);
    return;
  }
  out += '[';
  bool first = true;
  for (const Field& field : *dtype.fields) {
    out += first ? "" : ", ";
    first = false;
    append_field(out, field, syntax);
  }
  out += ']';
}

std::string quoted(std::string_view text) {
  std::string out;
  append_python_string(out, text.substr(0, 60));
  return out;
}

std::string bits_name(std::string_view kind, std::uint64_t itemsize) {
  return std::string(kind) + std::to_string(itemsize * 8);
}

}  // namespace

Dtype parse_descr(std::string_view descr) { return descr_of_string(descr); }

Dtype parse_descr_json(std::string_view json) {
  LiteralReader in(json, TextEncoding::kUtf8, "descr");
  Dtype dtype = read_descr(in);
  in.end();
  return dtype;
}

Dtype parse_type(std::string_view type) {
  Dtype dtype;
  if (type.starts_with('[')) {
    dtype = parse_descr_json(type);
  } else if (auto simple = type_of_text(without_module(type));
             simple && simple->kind != DtypeKind::kUnknown) {
    dtype = std::move(*simple);
  } else if (type.find(',') != std::string_view::npos) {
    dtype = descr_of_string(type);
  } else {
    throw_corrupt("unknown element type ", quoted(type),
                  "; known are NumPy's and ml_dtypes' names, such as float32 or float8_e4m3fn");
  }
  if (dtype.has_objects) {
    throw_corrupt("element type ", quoted(type),
                  " has objects, which no bytes can be read as; name a type of numbers");
  }
  return loadable(dtype);
}

Dtype with_type(const Dtype& stored, std::string_view type) {
  if (stored.kind == DtypeKind::kStruct || stored.has_objects) {
    throw_corrupt("the elements are ", stored.has_objects ? "objects" : "structured",
                  ", they can't be read as ", quoted(type), "; leave the array out");
  }
  Dtype dtype = parse_type(type);
  if (dtype.itemsize != stored.itemsize) {
    throw_corrupt("an element of ", quoted(type), " has ", dtype.itemsize,
                  " bytes, one of this array (", quoted(stored.descr), ") ", stored.itemsize,
                  "; name a type of that size");
  }
  const bool says_order = type.find_first_of("<>=|") != std::string_view::npos;
  if (!says_order && dtype.order != ByteOrder::kNone && stored.order == ByteOrder::kBig) {
    dtype.order = ByteOrder::kBig;
  }
  dtype.descr = stored.descr;
  dtype.numpy_loads = stored.numpy_loads;
  return dtype;
}

Dtype loadable(const Dtype& dtype) {
  Dtype result = dtype;
  result.numpy_loads = true;
  if (dtype.kind != DtypeKind::kStruct) {
    result.descr = loadable_text(dtype);
    return result;
  }
  result.descr.clear();
  auto fields = std::make_shared<std::vector<Field>>(*dtype.fields);
  for (Field& field : *fields) {
    field.dtype = loadable(field.dtype);
  }
  result.fields = std::move(fields);
  return result;
}

std::optional<std::string> dtype_name(const Dtype& dtype) {
  switch (dtype.kind) {
    case DtypeKind::kStruct:
    case DtypeKind::kUnknown:
      return std::nullopt;
    case DtypeKind::kElement:
      return std::string(element_name(dtype.element));
    case DtypeKind::kVoid:
      return "|V" + std::to_string(dtype.itemsize);
    default:
      break;
  }
  if (dtype.order == ByteOrder::kBig) {
    return loadable_text(dtype);
  }
  switch (dtype.kind) {
    case DtypeKind::kBool:
      return "bool";
    case DtypeKind::kInt:
      return bits_name("int", dtype.itemsize);
    case DtypeKind::kUint:
      return bits_name("uint", dtype.itemsize);
    case DtypeKind::kFloat:
      return bits_name("float", dtype.itemsize);
    case DtypeKind::kComplex:
      return bits_name("complex", dtype.itemsize);
    case DtypeKind::kDatetime:
      return "datetime64" + time_unit_text(dtype);
    case DtypeKind::kTimedelta:
      return "timedelta64" + time_unit_text(dtype);
    default:
      return loadable_text(dtype);
  }
}

std::vector<ElementType> candidates(const Dtype& dtype) {
  std::vector<ElementType> types;
  // Two bytes are bfloat16 if the header marks them as user-defined. Four marked ones are either of
  // the complex types; NumPy's own `|V4` is left alone.
  const bool marked = dtype.order != ByteOrder::kNone;
  if (dtype.kind == DtypeKind::kVoid && (dtype.itemsize < 4 || marked)) {
    std::ranges::copy_if(element_types(), std::back_inserter(types),
                         [&](ElementType type) { return element_size(type) == dtype.itemsize; });
  }
  return types;
}

std::string descr_json(const Dtype& dtype) {
  std::string out;
  append_descr(out, dtype, kJson);
  return out;
}

std::string descr_repr(const Dtype& dtype) {
  std::string out;
  append_descr(out, dtype, kPython);
  return out;
}

}  // namespace npyfs
