#include "npyfs/tree/views.h"

#include <array>
#include <cassert>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/transpose.h"
#include "npyfs/source/widen.h"
#include "npyfs/tree/meta.h"

namespace npyfs {
namespace {

std::string u8_header(const ArrayInfo& info) {
  return write_npy_header("'|u1'", u8view_shape(info.shape, info.dtype.itemsize), false);
}

std::string value_header(const ArrayInfo& info) {
  return write_npy_header(is_complex(info.dtype.element) ? "'<c8'" : "'<f4'", info.shape, false);
}

// False for a shape that has no elements but an axis too long to count its bytes.
bool has_u8_shape(const ArrayInfo& info) {
  const std::uint64_t last = info.shape.empty() ? 1 : info.shape.back();
  const auto bytes = checked_multiply(last, info.dtype.itemsize);
  return bytes && *bytes <= INT64_MAX;
}

std::uint64_t value_bytes(const ArrayInfo& info) {
  constexpr std::uint64_t kFloat = 4;
  return data_bytes(info.shape, is_complex(info.dtype.element) ? 2 * kFloat : kFloat);
}

// How widen knows the type.
Code code_of(const Dtype& dtype) {
  const bool big = dtype.order == ByteOrder::kBig;
  switch (dtype.element) {
    case ElementType::kBfloat16:
    case ElementType::kBcomplex32:
      return big ? Code::kBfloat16Big : Code::kBfloat16;
    case ElementType::kComplex32:
      return big ? Code::kFloat16Big : Code::kFloat16;
    case ElementType::kFloat8E3m4:
      return Code::kFloat8E3m4;
    case ElementType::kFloat8E4m3:
      return Code::kFloat8E4m3;
    case ElementType::kFloat8E4m3b11fnuz:
      return Code::kFloat8E4m3b11fnuz;
    case ElementType::kFloat8E4m3fn:
      return Code::kFloat8E4m3fn;
    case ElementType::kFloat8E4m3fnuz:
      return Code::kFloat8E4m3fnuz;
    case ElementType::kFloat8E5m2:
      return Code::kFloat8E5m2;
    case ElementType::kFloat8E5m2fnuz:
      return Code::kFloat8E5m2fnuz;
    case ElementType::kFloat8E8m0fnu:
      return Code::kFloat8E8m0fnu;
    case ElementType::kFloat6E2m3fn:
      return Code::kFloat6E2m3fn;
    case ElementType::kFloat6E3m2fn:
      return Code::kFloat6E3m2fn;
    case ElementType::kFloat4E2m1fn:
      return Code::kFloat4E2m1fn;
    case ElementType::kInt1:
      return Code::kInt1;
    case ElementType::kInt2:
      return Code::kInt2;
    case ElementType::kInt4:
      return Code::kInt4;
    case ElementType::kUint1:
      return Code::kUint1;
    case ElementType::kUint2:
      return Code::kUint2;
    case ElementType::kUint4:
      return Code::kUint4;
  }
  throw_unsupported("an element type without values");
}

}  // namespace

std::optional<View> value_view(const ArrayInfo& info) {
  constexpr std::uint64_t kMostValues = std::uint64_t{1} << 58;  // whose float32s have a size
  const bool has_values = info.dtype.kind == DtypeKind::kElement && info.has_views();
  if (!has_values || info.count > kMostValues) {
    return std::nullopt;
  }
  return is_complex(info.dtype.element) ? View::kC64view : View::kF32view;
}

std::vector<std::string> scales_of(const Catalog& catalog, ItemId array) {
  constexpr std::array<std::string_view, 5> kEndings = {"_scale", "_scale_inv", "_scale_2",
                                                        "_global_scale", "_scales"};
  constexpr std::string_view kPacked = "_packed";
  if (!value_view(catalog.info(array))) {
    return {};
  }
  std::string_view stem = catalog.name(array);
  if (stem.ends_with(kPacked)) {
    stem.remove_suffix(kPacked.size());
  }
  std::vector<std::string> keys;
  for (const std::string_view ending : kEndings) {
    const std::string name = std::string(stem).append(ending);
    const ItemId scale = catalog.find_array(catalog.parent(array), name);
    if (scale != kNoItem) {
      keys.push_back(catalog.key(scale));
    }
  }
  return keys;
}

Views::Views(const Catalog& catalog, std::shared_ptr<Decoder> decoder)
    : catalog_(catalog),
      decoder_(std::move(decoder)),
      first_object_(decoder_->cache().new_objects(catalog.count())) {}

bool Views::exists(ItemId array, View view) const {
  const ArrayInfo& info = catalog_.info(array);
  // Names of keys leave room for every suffix, those of files on disk may not.
  const bool fits = catalog_.name(array).size() + suffix(view).size() <= kMostNameBytes;
  if (view == View::kNpy) {
    return true;
  }
  if (!fits || catalog_.shadowed(array, view)) {
    return false;
  }
  switch (view) {
    case View::kNpy:
    case View::kMeta:
      return true;
    case View::kRaw:
      return info.has_views();
    case View::kU8view:
      return info.has_views() && has_u8_shape(info);
    case View::kF32view:
    case View::kC64view:
      return value_view(info) == view;
  }
  return false;
}

std::uint64_t Views::size(ItemId array, View view) const {
  const ArrayInfo& info = catalog_.info(array);
  switch (view) {
    case View::kNpy:
      return info.header.size() + catalog_.store(array).size(catalog_.store_index(array));
    case View::kRaw:
      return info.nbytes;
    case View::kU8view:
      return u8_header(info).size() + info.nbytes;
    case View::kMeta: {
      CountingSink sink;
      write_meta(*this, array, sink);
      return sink.size();
    }
    case View::kF32view:
    case View::kC64view:
      return value_header(info).size() + value_bytes(info);
  }
  return 0;
}

SourcePtr Views::data(ItemId array) const {
  const ArrayInfo& info = catalog_.info(array);
  assert(info.has_views());
  const SourcePtr stored = catalog_.store(array).open(catalog_.store_index(array));
  SourcePtr data = slice(stored, info.stored_data_offset(), info.nbytes);
  if (!info.fortran_order) {
    return data;
  }
  return c_order(std::move(data), info.shape, info.dtype.itemsize,
                 std::shared_ptr<BlockCache>(decoder_, &decoder_->cache()), first_object_ + array);
}

SourcePtr Views::open(ItemId array, View view) const {
  const ArrayInfo& info = catalog_.info(array);
  switch (view) {
    case View::kNpy: {
      const SourcePtr stored = catalog_.store(array).open(catalog_.store_index(array));
      return info.header.empty() ? stored : concat({memory(info.header), stored});
    }
    case View::kRaw:
      return data(array);
    case View::kU8view:
      return concat({memory(u8_header(info)), data(array)});
    case View::kMeta: {
      StringSink sink;
      write_meta(*this, array, sink);
      return memory(sink.text());
    }
    case View::kF32view:
    case View::kC64view:
      return concat({memory(value_header(info)), widen(data(array), code_of(info.dtype))});
  }
  throw_error(ENOENT, catalog_.path(array) + std::string(suffix(view)) + ": no such file");
}

}  // namespace npyfs
