// Any bytes as a zip archive: members or an Error, and each member's content or an Error, the same
// however it is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"
#include "npyfs/format/array_info.h"
#include "npyfs/format/zip.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20;
constexpr std::uint32_t kMostMembers = 300;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// What Npz does with a member's first bytes.
std::size_t describe(const ZipArchive& archive, std::uint32_t index, Bytes head, bool is_all) {
  require(head.size() <= archive.size(index));
  if (!has_npy_magic(head)) {
    return 0;
  }
  try {
    const std::uint64_t size = npy_header_size(head);
    if (size > head.size()) {
      return is_all || size > archive.size(index) ? 0 : size;
    }
    const ArrayInfo info = describe_image(head, archive.size(index));
    require(info.known || info.error);
    require(!info.has_views() || info.data_offset + info.nbytes <= archive.size(index));
  } catch (const Error&) {
  }
  return 0;
}

void read_member(const ZipArchive& archive, std::uint32_t index) {
  require(is_utf8(archive.name(index)));
  const ZipFault* fault = archive.fault(index);
  try {
    const SourcePtr source = archive.open(index);
    require(fault == nullptr || !fault->unreadable);
    require(source->size() == archive.size(index));
    const std::size_t length = std::min(source->size(), kMostRead);
    const auto whole = read_bytes(*source, 0, length);
    const auto middle = read_bytes(*source, length / 3, length - length / 3);
    require(std::ranges::equal(middle, Bytes(whole).subspan(length / 3)));
  } catch (const Error&) {
  }
}

}  // namespace
}  // namespace npyfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace npyfs;
  try {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const auto decoder = std::make_shared<Decoder>(
        Decoder::Options{.cache_bytes = 0, .restart_bytes = 0, .threads = 0});
    const auto archive = ZipArchive::read(memory(bytes), decoder, describe, [](std::uint32_t) {});
    for (std::uint32_t i = 0; i < std::min(archive->count(), kMostMembers); ++i) {
      read_member(*archive, i);
    }
  } catch (const Error&) {
  }
  return 0;
}
