#include "tree/parts.h"

#include <algorithm>
#include <utility>

#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

// The header of an image that begins at `offset`, or no bytes if none begins there.
std::vector<std::byte> header_at(const Source& source, std::uint64_t offset) {
  constexpr std::size_t kUsual = 256;
  const std::uint64_t left = source.size() - offset;
  auto head = read_bytes(source, offset, std::min<std::uint64_t>(left, kUsual));
  if (!has_npy_magic(head)) {
    return {};
  }
  const std::uint64_t size = npy_header_size(head);
  return size > head.size() ? read_bytes(source, offset, std::min<std::uint64_t>(left, size))
                            : head;
}

}  // namespace

std::unique_ptr<const Parts> Parts::find(const Store& store, std::uint32_t index, std::string key) {
  if (store.origin(index).compression != "stored") {
    return nullptr;
  }
  std::unique_ptr<Parts> parts(new Parts(store, index, std::move(key)));
  try {
    const SourcePtr source = store.open(index);
    for (std::uint64_t at = 0; at < source->size() && parts->count() < kMost;) {
      const auto header = header_at(*source, at);
      if (header.empty()) {
        break;
      }
      const std::uint64_t left = source->size() - at;
      auto info = std::make_shared<ArrayInfo>(describe_image(header, left));
      const bool whole = info->has_views();
      const std::uint64_t size = whole ? info->data_offset + info->nbytes : left;
      if (whole && size < left) {
        // What follows is the next image's, not extra bytes of this one.
        *info = describe_image(header, size);
      }
      parts->parts_.push_back({at, size, std::move(info)});
      at += size;
      parts->too_many_ = parts->count() == kMost && at < source->size();
    }
  } catch (const Error&) {
    // An image that can't be read any more ends the parts; NAME.npy still has every byte.
  }
  return parts->count() > 1 ? std::move(parts) : nullptr;
}

std::shared_ptr<const ArrayInfo> Parts::concat_info() const {
  const ArrayInfo& first = *parts_.front().info;
  if (too_many_) {
    return nullptr;
  }
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) {
    const ArrayInfo& info = *part.info;
    const bool fits =
        info.has_views() && !info.shape.empty() && info.shape.size() == first.shape.size() &&
        std::equal(info.shape.begin() + 1, info.shape.end(), first.shape.begin() + 1) &&
        descr_repr(info.dtype) == descr_repr(first.dtype) &&
        info.fortran_order == first.fortran_order;
    // In Fortran order, rows put one after another make no array, but for one axis.
    const auto sum = checked_add(rows, fits ? info.shape.front() : 0);
    if (!fits || !sum || (info.fortran_order && info.shape.size() > 1)) {
      return nullptr;
    }
    rows = *sum;
    bytes += info.nbytes;
  }
  Shape shape = first.shape;
  shape.front() = rows;
  try {
    return std::make_shared<const ArrayInfo>(describe_data(
        loadable(first.dtype), DtypeFrom::kHeader, std::move(shape), first.fortran_order, bytes));
  } catch (const Error&) {
    return nullptr;
  }
}

std::string Parts::key(std::uint32_t index) const {
  return index == count() ? key_ + ".concat" : key_ + ".parts/" + std::to_string(index);
}

std::uint64_t Parts::size(std::uint32_t index) const {
  if (index < count()) {
    return parts_[index].size;
  }
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) {
    bytes += part.info->nbytes;
  }
  return bytes;
}

SourcePtr Parts::open(std::uint32_t index) const {
  const SourcePtr source = store_.open(index_);
  if (index < count()) {
    return slice(source, parts_[index].offset, parts_[index].size);
  }
  std::vector<SourcePtr> data;
  for (const Part& part : parts_) {
    data.push_back(slice(source, part.offset + part.info->data_offset, part.info->nbytes));
  }
  return concat(std::move(data));
}

Origin Parts::origin(std::uint32_t index) const {
  Origin origin = store_.origin(index_);
  origin.stored_bytes = size(index);
  origin.crc32.reset();
  if (index == count()) {
    origin.offset.reset();
  } else if (origin.offset) {
    *origin.offset += parts_[index].offset;
  }
  return origin;
}

}  // namespace npyfs
