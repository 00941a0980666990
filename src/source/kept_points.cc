#include "source/kept_points.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <sys/stat.h>

#include <isa-l/crc64.h>

#include "npyfs/base/error.h"
#include "npyfs/source/block_cache.h"

namespace npyfs {
namespace {

constexpr std::string_view kMagic = "npyfspts";
constexpr std::size_t kFixedSize = 24;
constexpr std::size_t kEntrySize = 20;
constexpr std::size_t kChecksumSize = 8;

std::uint64_t crc64(Bytes bytes) {
  return crc64_ecma_refl(0, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

void append(std::vector<std::byte>& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    out.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
  }
}

std::vector<std::byte> read_front(const Fd& file, std::size_t size, std::uint64_t file_size) {
  if (size > file_size) {
    throw_corrupt("cut off at ", file_size, " bytes");
  }
  std::vector<std::byte> front(size);
  pread_exact(file.get(), front, 0);
  return front;
}

std::uint64_t size_of(const Fd& file) {
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) {
    throw_system(errno, "its size");
  }
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

std::uint64_t checksum_of_state(Bytes state) { return crc64(state); }

std::vector<std::byte> front_of_points(std::string_view key,
                                       const std::vector<KeptPoints::Entry>& entries) {
  std::vector<std::byte> front;
  front.reserve(kFixedSize + key.size() + entries.size() * kEntrySize + kChecksumSize);
  std::ranges::copy(bytes_of(kMagic), std::back_inserter(front));
  append(front, KeptPoints::kVersion, 4);
  append(front, key.size(), 4);
  append(front, entries.size(), 4);
  append(front, 0, 4);
  std::ranges::copy(bytes_of(key), std::back_inserter(front));
  for (const KeptPoints::Entry& entry : entries) {
    append(front, entry.position, 8);
    append(front, entry.length, 4);
    append(front, entry.crc, 8);
  }
  append(front, crc64(front), 8);
  return front;
}

KeptPoints KeptPoints::read(Fd file, std::string_view key, std::uint64_t size) {
  const std::uint64_t file_size = size_of(file);
  const auto fixed = read_front(file, kFixedSize, file_size);
  ByteReader fixed_reader(fixed);
  if (text_view(fixed_reader.take(kMagic.size())) != kMagic) {
    throw_corrupt("no restart points");
  }
  const std::uint32_t version = fixed_reader.u32();
  const std::uint32_t key_length = fixed_reader.u32();
  const std::uint32_t count = fixed_reader.u32();
  if (version != kVersion) {
    return {};
  }
  if (key_length > kMostKey || count > kMostPoints || fixed_reader.u32() != 0) {
    throw_corrupt("a key of ", key_length, " bytes and ", count, " points");
  }
  const std::size_t front_size = kFixedSize + key_length + count * kEntrySize + kChecksumSize;
  const auto front = read_front(file, front_size, file_size);
  const Bytes checked = Bytes(front).first(front_size - kChecksumSize);
  if (ByteReader(Bytes(front).last(kChecksumSize)).u64() != crc64(checked)) {
    throw_corrupt("the checksum of its first ", front_size, " bytes differs");
  }
  ByteReader reader(checked);
  reader.skip(kFixedSize);
  if (text_view(reader.take(key_length)) != key) {
    return {};
  }
  KeptPoints kept;
  kept.entries_.reserve(count);
  std::uint64_t last = 0;
  std::uint64_t offset = front_size;
  for (std::uint32_t i = 0; i < count; ++i) {
    Entry entry;
    entry.position = reader.u64();
    entry.offset = offset;
    entry.length = reader.u32();
    entry.crc = reader.u64();
    if (entry.position <= last || entry.position >= size ||
        entry.position % BlockCache::kBlockSize != 0 || entry.length > kMostState) {
      throw_corrupt("a point at ", entry.position, " of ", entry.length, " bytes");
    }
    last = entry.position;
    offset += entry.length;
    kept.entries_.push_back(entry);
  }
  if (offset != file_size) {
    throw_corrupt(file_size, " bytes where its points take ", offset);
  }
  kept.file_ = std::move(file);
  return kept;
}

bool KeptPoints::has(std::uint64_t position) const {
  return position > 0 && nearest(position) == position;
}

std::uint64_t KeptPoints::nearest(std::uint64_t position) const {
  const auto after = std::ranges::upper_bound(entries_, position, {}, &Entry::position);
  return after == entries_.begin() ? 0 : std::prev(after)->position;
}

RestartPointPtr KeptPoints::load(std::uint64_t position) const {
  const auto found = std::ranges::lower_bound(entries_, position, {}, &Entry::position);
  if (found == entries_.end() || found->position != position) {
    return nullptr;
  }
  auto point = std::make_shared<RestartPoint>();
  point->position = position;
  point->state.resize(found->length);
  try {
    pread_exact(file_.get(), point->state, found->offset);
  } catch (const Error&) {
    return nullptr;
  }
  return checksum_of_state(point->state) == found->crc ? point : nullptr;
}

}  // namespace npyfs
