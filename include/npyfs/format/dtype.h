// What one element of an array is, as the `descr` of a .npy header tells it.
//
// A Dtype knows two things that needn't agree: `descr`, the text that stands in the header served
// with the array, and the type itself. `<V1` in a header says no more than "one byte"; a sidecar or
// the user may know that it is float8_e4m3fn, and the header stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/format/element_type.h"
#include "npyfs/format/shape.h"

namespace npyfs {

enum class DtypeKind : std::uint8_t {
  kBool,
  kInt,
  kUint,
  kFloat,    // 2, 4, 8 bytes IEEE; 16: long double, on x86 80 bits in the first 10 bytes
  kComplex,  // two floats of half the size
  kDatetime,
  kTimedelta,
  kBytes,    // S: NUL-padded
  kText,     // U: UCS-4 code points
  kVoid,     // V: opaque, or a type the header doesn't tell
  kObject,   // O: the data is one pickle
  kElement,  // a type plain NumPy lacks: `element`
  kStruct,   // `fields`
  kUnknown,  // no type of NumPy's, of a known size: `<f10`, `<W4`
};

// kNone: byte order doesn't apply. For kVoid anything but kNone is the mark of a user-defined type,
// since NumPy's own void is always written `|V`.
enum class ByteOrder : std::uint8_t { kNone, kLittle, kBig };

// Units of M8 and m8, from long to short.
enum class TimeUnit : std::uint8_t {
  kYear,
  kMonth,
  kWeek,
  kDay,
  kHour,
  kMinute,
  kSecond,
  kMilli,
  kMicro,
  kNano,
  kPico,
  kFemto,
  kAtto,
  kGeneric,
};

struct Field;

// A value; copies share the fields, which are const.
struct Dtype {
  DtypeKind kind = DtypeKind::kVoid;
  ByteOrder order = ByteOrder::kNone;
  ElementType element = ElementType::kBfloat16;  // only if kind is kElement
  TimeUnit unit = TimeUnit::kGeneric;            // only for kDatetime, kTimedelta
  bool has_objects = false;                      // an object anywhere: the data is one pickle
  bool numpy_loads = true;                       // plain NumPy takes the descr
  std::uint32_t unit_multiple = 1;               // 25 for `<M8[25s]`
  std::uint64_t itemsize = 0;                    // bytes
  std::string descr;                             // header text; empty where it is a list of fields
  std::shared_ptr<const std::vector<Field>> fields;  // null if not kStruct
};

struct Field {
  std::string name;  // UTF-8
  std::optional<std::string> title;
  Dtype dtype;
  Shape shape;               // of a sub-array, else empty
  std::uint64_t offset = 0;  // bytes from the start of the element
  bool padding = false;      // unnamed bytes between fields; no field to anybody else
};

// Limits of what a header may ask for; NumPy has none, real ones stay far below.
inline constexpr std::size_t kMaxDtypeDepth = 64;
inline constexpr std::size_t kMaxFields = 100000;

// A descr string of a header, in any dialect: `<f4`, `f4`, `float32`, `bfloat16`, `<f4,<i4`. What
// NumPy doesn't know but has a size is kUnknown. Native byte order is taken for little-endian.
// Throws Error (EIO) if no size can be told.
Dtype parse_descr(std::string_view descr);

// A descr as meta.json has it: the JSON text of a string or a list of fields. Throws Error (EIO).
Dtype parse_descr_json(std::string_view json);

// A type as a person or a sidecar names it: a NumPy name or descr, a name of ml_dtypes, with their
// module in front or PyTorch's ("torch.bfloat16"), a list of fields. The result's descr is what a
// new header shall say: `<V1` for float8_e5m2. Throws Error (EIO) if there is no such type or its
// elements are objects.
Dtype parse_type(std::string_view type);

// `stored`, known to be of that type: its descr with the type of parse_type(type). A name without a
// byte order takes over `stored`'s. Throws Error (EIO) if the item sizes differ, or if `stored` is
// structured or has objects.
Dtype with_type(const Dtype& stored, std::string_view type);

// The same type with a descr that plain NumPy loads, as a new header shall have it: `<V1` for
// `<f1`,
// `<V10` for `<f10`.
Dtype loadable(const Dtype& dtype);

// What np.dtype() takes, or else an attribute of ml_dtypes: np.dtype.name for little-endian or
// orderless bool, int, float, complex, M8 and m8, the bare name for ml_dtypes types, otherwise
// .str. nullopt for structured and unknown types.
std::optional<std::string> dtype_name(const Dtype& dtype);

// The types it could be, where the header leaves several (`<V1`, `|V1`, `<V4`, `<W4`) or one but
// not for sure (`|V2`); else empty.
std::vector<ElementType> candidates(const Dtype& dtype);

// `descr` as JSON text: a string, or a list where a header has a list, with lists for tuples.
std::string descr_json(const Dtype& dtype);

// `descr` as Python's repr() prints it: what stands after 'descr': in a header. UTF-8.
std::string descr_repr(const Dtype& dtype);

}  // namespace npyfs
