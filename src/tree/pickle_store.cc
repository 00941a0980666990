#include "tree/pickle_store.h"

#include <algorithm>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/format/sniff.h"

namespace npyfs {
namespace {

// Says what bytes are that are named like a pickle but begin like something else.
void throw_if_no_pickle(const Source& source) {
  const auto head = read_bytes(source, 0, std::min<std::uint64_t>(source.size(), kSniffSize));
  if (has_pickle_magic(head)) {
    return;
  }
  if (const auto what = recognise_bytes(head, source.size())) {
    throw_corrupt("no pickle but ", *what);
  }
}

}  // namespace

std::unique_ptr<const PickleStore> PickleStore::read(const Store& store, std::uint32_t index,
                                                     std::uint64_t offset, std::string key,
                                                     std::shared_ptr<BlockCache> cache) {
  std::unique_ptr<PickleStore> result(
      new PickleStore(store, index, std::move(key), std::move(cache)));
  const SourcePtr source = store.open(index);
  try {
    result->found_ = find_arrays(read_pickle(*source, offset, source->size()));
    result->first_object_ = result->cache_->new_objects(result->count());
  } catch (const Error& e) {
    if (offset == 0 && e.errno_value() != EINTR) {
      throw_if_no_pickle(*source);
    }
    throw;
  }
  return result;
}

std::string PickleStore::path(std::uint32_t index) const {
  std::string path;
  for (const std::string& step : found_.arrays[index].path) {
    path += path.empty() ? "" : "/";
    path += step;
  }
  return path;
}

std::shared_ptr<const ArrayInfo> PickleStore::info(std::uint32_t index, Infos& known) const {
  const PickledArray& array = found_.arrays[index];
  auto& info = known[{array.dtype, array.shape, array.fortran_order}];
  if (info == nullptr) {
    info = std::make_shared<const ArrayInfo>(describe_data(
        *array.dtype, DtypeFrom::kContainer, array.shape, array.fortran_order, array.nbytes));
  }
  return info;
}

std::string PickleStore::key(std::uint32_t index) const {
  const std::string inner = path(index);
  const bool both = !inner.empty() && !key_.empty();
  return key_ + (both ? "/" : "") + inner;
}

SourcePtr PickleStore::open(std::uint32_t index) const {
  return array_data(found_.arrays[index], store_.open(index_), cache_, first_object_ + index);
}

Origin PickleStore::origin(std::uint32_t index) const {
  Origin origin = store_.origin(index_);
  origin.format = "pickle";
  origin.member += origin.member.empty() ? "" : ": ";
  origin.member += path(index);
  origin.offset.reset();
  origin.stored_bytes = found_.arrays[index].data.length;
  origin.crc32.reset();
  return origin;
}

}  // namespace npyfs
