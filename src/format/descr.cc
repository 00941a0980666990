#include "format/descr.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"

#include "format/time_unit.h"
#include "format/type_text.h"

namespace npyfs {
namespace {

// A type and, if it is a sub-array, its shape: an array can have that only as a field's.
struct Typed {
  Dtype dtype;
  Shape shape;
};

// Bounds the memory that a header can ask for: a field of ours is larger than its text.
class FieldBudget {
 public:
  void take() {
    if (left_ == 0) {
      throw_corrupt("descr has more than ", kMaxFields, " fields");
    }
    --left_;
  }

 private:
  std::size_t left_ = kMaxFields;
};

// Collects the fields of one structured type.
class FieldList {
 public:
  void add(Field field) {
    field.offset = itemsize_;
    const auto end = checked_add(itemsize_, data_bytes(field.shape, field.dtype.itemsize));
    if (!end || *end > INT64_MAX) {
      throw_corrupt("the fields together pass 2^63 bytes");
    }
    itemsize_ = *end;
    fields_.push_back(std::move(field));
  }

  Dtype finish() {
    Dtype dtype;
    dtype.kind = DtypeKind::kStruct;
    dtype.itemsize = itemsize_;
    for (const Field& field : fields_) {
      dtype.has_objects = dtype.has_objects || field.dtype.has_objects;
      dtype.numpy_loads = dtype.numpy_loads && field.dtype.numpy_loads;
    }
    dtype.fields = std::make_shared<const std::vector<Field>>(std::move(fields_));
    return dtype;
  }

 private:
  std::vector<Field> fields_;
  std::uint64_t itemsize_ = 0;
};

std::string shown(std::string_view text) {
  constexpr std::size_t kMostShown = 60;
  std::string out;
  append_python_string(out, text.substr(0, kMostShown));
  return text.size() > kMostShown ? out + "…" : out;
}

[[noreturn]] void throw_no_type(std::string_view text) {
  throw_corrupt("descr ", shown(text), " is no type and has no item size");
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(' ') == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool is_order(char c) { return std::string_view("<>|=").find(c) != std::string_view::npos; }

// The end of the piece at the front of a comma string: a comma outside brackets, or the end.
std::size_t piece_length(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') {
      ++depth;
    } else if (depth > 0 && (text[i] == ')' || text[i] == ']')) {
      --depth;
    } else if (depth == 0 && text[i] == ',') {
      return i;
    }
  }
  return text.size();
}

// Takes `2` or `(2, 3)` from the front of a type's text; nullopt if what stands there is no shape.
std::optional<Shape> take_repeat(std::string_view& text) {
  Shape shape;
  if (!text.starts_with('(')) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits > 0 && digits < text.size()) {
      const auto length = decimal(text.substr(0, digits));
      if (!length) {
        return std::nullopt;
      }
      if (*length != 1) {  // to NumPy 1.x `1f4` is no sub-array; it has the same bytes
        shape.push_back(*length);
      }
      text.remove_prefix(digits);
    }
    return shape;
  }
  const std::size_t close = text.find(')');
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view inside = text.substr(1, close - 1);
  while (!is_blank(inside)) {
    const std::size_t comma = piece_length(inside);
    const auto length = decimal(trimmed(inside.substr(0, comma)));
    if (!length || shape.size() == kMaxDimensions) {
      return std::nullopt;
    }
    shape.push_back(*length);
    inside.remove_prefix(std::min(comma + 1, inside.size()));
  }
  text.remove_prefix(close + 1);
  return shape;
}

// One piece of a comma string: `<2f4`, `2<f4`, `(2,3)f4`, `f4`.
std::optional<Typed> repeated_type(std::string_view piece) {
  std::string_view rest = trimmed(piece);
  std::string type;
  if (!rest.empty() && is_order(rest.front())) {
    type = rest.front();
    rest.remove_prefix(1);
  }
  auto shape = take_repeat(rest);
  if (!shape) {
    return std::nullopt;
  }
  rest = trimmed(rest);
  if (!rest.empty() && is_order(rest.front())) {
    type.clear();
  }
  type += rest;
  auto dtype = type_of_text(type);
  if (!dtype) {
    return std::nullopt;
  }
  dtype->descr = std::move(type);
  return Typed{std::move(*dtype), std::move(*shape)};
}

Dtype comma_fields(std::string_view text, FieldBudget& budget) {
  FieldList fields;
  std::string_view rest = text;
  for (std::size_t i = 0; !is_blank(rest); ++i) {
    const std::size_t length = piece_length(rest);
    auto typed = repeated_type(rest.substr(0, length));
    if (!typed) {
      throw_no_type(text);
    }
    budget.take();
    Field field;
    field.name = "f" + std::to_string(i);
    field.dtype = std::move(typed->dtype);
    field.shape = std::move(typed->shape);
    fields.add(std::move(field));
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  Dtype dtype = fields.finish();
  dtype.descr = text;
  return dtype;
}

// A sub-array where only an element may stand: its bytes are known, and that is all.
Dtype opaque(const Typed& typed, std::string descr) {
  Dtype dtype;
  dtype.kind = DtypeKind::kUnknown;
  dtype.has_objects = typed.dtype.has_objects;
  dtype.numpy_loads = false;
  dtype.itemsize = data_bytes(typed.shape, typed.dtype.itemsize);
  dtype.descr = std::move(descr);
  return dtype;
}

Typed typed_of_string(std::string_view text, FieldBudget& budget) {
  const bool plain = text.find_first_of(",( ") == std::string_view::npos;
  if (auto dtype = plain ? type_of_text(text) : std::nullopt) {
    dtype->descr = text;
    return {std::move(*dtype), {}};
  }
  const std::size_t piece = piece_length(text);
  if (piece < text.size() && piece > 0) {
    return {comma_fields(text, budget), {}};
  }
  auto typed = repeated_type(text);
  if (!typed) {
    throw_no_type(text);
  }
  if (typed->shape.empty()) {
    typed->dtype.descr = text;
    typed->dtype.numpy_loads = false;  // blanks around it
  }
  return std::move(*typed);
}

class DescrReader {
 public:
  explicit DescrReader(LiteralReader& in) : in_(in) {}

  // `depth` counts the lists and tuples around it.
  Typed read(std::size_t depth) {
    if (in_.at_string()) {
      return typed_of_string(in_.string(), budget_);
    }
    if (depth == kMaxDtypeDepth) {
      in_.fail("descr is nested more than ", kMaxDtypeDepth, " deep");
    }
    if (in_.skip('[')) {
      return {read_fields(depth), {}};
    }
    if (!in_.skip('(')) {
      in_.fail("descr is neither a string nor a list of fields,");
    }
    Typed typed = read(depth + 1);
    if (in_.skip(',') && in_.peek() != ')') {
      prepend_shape(typed.shape);
      in_.skip(',');
    }
    in_.expect(')');
    return typed;
  }

 private:
  Dtype read_fields(std::size_t depth) {
    FieldList fields;
    while (!in_.skip(']')) {
      budget_.take();
      fields.add(read_field(depth + 1));
      if (!in_.skip(',')) {
        in_.expect(']');
        break;
      }
    }
    return fields.finish();
  }

  // Takes the opening mark and returns the one that closes.
  char open_tuple() {
    if (in_.skip('[')) {
      return ']';
    }
    in_.expect('(');
    return ')';
  }

  Field read_field(std::size_t depth) {
    Field field;
    const char close = open_tuple();
    read_name(field);
    in_.expect(',');
    Typed typed = read(depth);
    if (in_.skip(',') && in_.peek() != close) {
      prepend_shape(typed.shape);
      in_.skip(',');
    }
    in_.expect(close);
    field.dtype = std::move(typed.dtype);
    field.shape = std::move(typed.shape);
    const bool is_void = field.dtype.kind == DtypeKind::kVoid || !field.shape.empty() ||
                         (field.dtype.kind == DtypeKind::kElement && field.dtype.numpy_loads);
    field.padding = field.name.empty() && !field.title && is_void;
    return field;
  }

  // `name`, or (title, name).
  void read_name(Field& field) {
    if (in_.at_string()) {
      field.name = in_.string();
      return;
    }
    const char close = open_tuple();
    field.title = in_.string();
    in_.expect(',');
    field.name = in_.string();
    in_.skip(',');
    in_.expect(close);
  }

  // The shape of a field stands outside that of its type: (('f4', (3,)), 2) has shape (2, 3).
  void prepend_shape(Shape& shape) {
    Shape outer;
    const char mark = in_.peek();
    if (mark != '(' && mark != '[') {
      outer.push_back(in_.integer());
    } else {
      const char close = open_tuple();
      while (!in_.skip(close)) {
        if (outer.size() == kMaxDimensions) {
          in_.fail("more than ", kMaxDimensions, " dimensions");
        }
        outer.push_back(in_.integer());
        if (!in_.skip(',')) {
          in_.expect(close);
          break;
        }
      }
    }
    shape.insert(shape.begin(), outer.begin(), outer.end());
  }

  LiteralReader& in_;
  FieldBudget budget_;
};

}  // namespace

Dtype read_descr(LiteralReader& in) {
  if (in.at_string()) {
    return descr_of_string(in.string());
  }
  Typed typed = DescrReader(in).read(0);
  if (typed.shape.empty()) {
    return std::move(typed.dtype);
  }
  return opaque(typed, "(" + descr_repr(typed.dtype) + ", " + shape_text(typed.shape) + ")");
}

Dtype descr_of_string(std::string_view text) {
  FieldBudget budget;
  Typed typed = typed_of_string(text, budget);
  return typed.shape.empty() ? std::move(typed.dtype) : opaque(typed, std::string(text));
}

}  // namespace npyfs
