// Files of kept restart points, and the states in them. The first byte says how the rest is meant:
//   bit 0 clear  a file: what is read of it holds what kept_points.h promises; with bit 1 set its
//                checksum is put right first, which no fuzzer would find
//   bit 0 set    changes to a state that was saved in the middle of a block, three bytes each:
//                where (little-endian) and to what. It is refused, or decodes to something, or
//                fails as damaged data does, and nothing is touched that isn't the decoder's
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <isa-l/crc64.h>

#include "npyfs/base/error.h"
#include "npyfs/source/block_cache.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "source/kept_points.h"
#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kMemberSize = std::uint64_t{64} << 20;
constexpr std::string_view kKey = "key";

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

Fd file_of(Bytes bytes) {
  Fd file(::memfd_create("points", MFD_CLOEXEC));
  require(file.valid());
  require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

// The checksum that a front of this many points has, where there is room for it.
void correct_checksum(std::vector<std::byte>& file) {
  constexpr std::size_t kFixed = 24;
  if (file.size() < kFixed) {
    return;
  }
  ByteReader reader(Bytes(file).subspan(12));
  const std::uint64_t key = reader.u32();
  const std::uint64_t points = reader.u32();
  const std::uint64_t checked = kFixed + key + points * 20;
  if (checked > file.size() || file.size() - checked < 8) {
    return;
  }
  const std::uint64_t crc =
      crc64_ecma_refl(0, reinterpret_cast<const std::uint8_t*>(file.data()), checked);
  for (std::size_t i = 0; i < 8; ++i) {
    file[checked + i] = static_cast<std::byte>(crc >> 8 * i);
  }
}

void check_file(std::vector<std::byte> bytes, bool corrects) {
  if (corrects) {
    correct_checksum(bytes);
  }
  try {
    const KeptPoints kept = KeptPoints::read(file_of(bytes), kKey, kMemberSize);
    std::uint64_t last = 0;
    for (const KeptPoints::Entry& entry : kept.entries()) {
      require(entry.position > last && entry.position < kMemberSize &&
              entry.position % BlockCache::kBlockSize == 0 && kept.has(entry.position) &&
              kept.nearest(entry.position + 1) == entry.position &&
              kept.nearest(entry.position - 1) == last);
      last = entry.position;
      if (const RestartPointPtr point = kept.load(entry.position)) {
        require(point->position == entry.position && point->state.size() == entry.length);
        require(checksum_of_state(point->state) == entry.crc);
      }
    }
    require(!kept.has(0) && !kept.has(kMemberSize));
  } catch (const Error&) {
  }
}

struct Saved {
  std::unique_ptr<Codec> codec = inflate_codec(memory(deflate_bytes(weight_bytes(400000))));
  RestartPoint point;

  Saved() {
    const auto cursor = codec->start();
    std::vector<std::byte> out(200000);
    cursor->produce(out);
    point = *cursor->save();
  }
};

void check_state(Bytes changes) {
  static const Saved saved;
  RestartPoint point = saved.point;
  for (ByteReader reader(changes); reader.remaining() >= 3;) {
    const std::size_t at = reader.u16() % point.state.size();
    point.state[at] = static_cast<std::byte>(reader.u8());
  }
  const auto out = std::make_unique_for_overwrite<std::byte[]>(300000);
  try {
    const auto cursor = saved.codec->resume(point);
    for (const std::size_t piece : {1U, 100000U, 199999U}) {
      cursor->produce({out.get(), piece});
      if (const auto again = cursor->save()) {
        require(saved.codec->resume(*again)->position() == cursor->position());
      }
    }
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace npyfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const npyfs::Bytes rest{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  if ((data[0] & 1) != 0) {
    npyfs::check_state(rest);
  } else {
    npyfs::check_file({rest.begin(), rest.end()}, (data[0] & 2) != 0);
  }
  return 0;
}
