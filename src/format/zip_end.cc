#include "format/zip_end.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/base/error.h"

namespace npyfs {
namespace {

constexpr std::string_view kEndSignature("PK\5\6", 4);
constexpr std::string_view kEnd64Signature("PK\6\6", 4);
constexpr std::string_view kLocatorSignature("PK\6\7", 4);
constexpr std::string_view kDirectorySignature("PK\1\2", 4);
constexpr std::string_view kLocalSignature("PK\3\4", 4);
constexpr std::uint64_t kEndSize = 22;
constexpr std::uint64_t kEnd64Size = 56;
constexpr std::uint64_t kLocatorSize = 20;
constexpr std::uint64_t kMostComment = 65535;
constexpr std::uint64_t kSmallestRecord = 46;
// How far from the end libzip looks for end records.
constexpr std::uint64_t kSearched = kEndSize + kMostComment + 1;

bool has_signature(const Source& source, std::uint64_t at, std::string_view signature) {
  if (at > source.size() || source.size() - at < signature.size()) {
    return false;
  }
  return text_view(read_bytes(source, at, signature.size())) == signature;
}

// Size and place of the central directory, as an end record gives them.
struct Directory {
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
  std::uint64_t records = 0;  // bytes between the directory and the end record
  std::uint64_t count = 0;    // of members
};

// The zip64 records before the end record at `end_at`; nullopt if there are none.
std::optional<Directory> read_end64(const Source& source, std::uint64_t end_at) {
  if (end_at < kLocatorSize + kEnd64Size ||
      !has_signature(source, end_at - kLocatorSize, kLocatorSignature)) {
    return std::nullopt;
  }
  // The locator's offset doesn't know of a prefix, so the usual place comes first.
  const auto locator = read_bytes(source, end_at - kLocatorSize, kLocatorSize);
  const std::uint64_t usual = end_at - kLocatorSize - kEnd64Size;
  const std::uint64_t told = ByteReader(Bytes(locator).subspan(8)).u64();
  for (const std::uint64_t at : {usual, told}) {
    if (at <= usual && has_signature(source, at, kEnd64Signature)) {
      const auto record = read_bytes(source, at, kEnd64Size);
      ByteReader in(Bytes(record).subspan(32));
      Directory directory;
      directory.count = in.u64();
      directory.size = in.u64();
      directory.offset = in.u64();
      directory.records = end_at - at;
      return directory;
    }
  }
  return std::nullopt;
}

// The archive that ends with the end record at `end_at`, if its directory really lies before it.
std::optional<ZipRange> archive_ending_at(const Source& source, std::uint64_t end_at) {
  const auto record = read_bytes(source, end_at, kEndSize);
  ByteReader in(record);
  in.skip(8);
  const std::uint16_t entries_here = in.u16();
  const std::uint16_t entries = in.u16();
  Directory directory;
  directory.count = entries;
  directory.size = in.u32();
  directory.offset = in.u32();
  const std::uint64_t comment = in.u16();
  if (comment > source.size() - end_at - kEndSize) {
    return std::nullopt;
  }
  if (const auto directory64 = read_end64(source, end_at)) {
    const auto span = checked_add(directory64->size, directory64->records);
    if (span && *span <= end_at) {
      directory = *directory64;
    }
  }
  if (directory.size + directory.records > end_at) {
    return std::nullopt;
  }
  const std::uint64_t begins = end_at - directory.records - directory.size;
  const bool has_none = directory.records > 0 || entries_here == 0;  // a zip64 record says both
  const bool empty = directory.size == 0 && directory.count == 0 && has_none;
  if (!empty && !has_signature(source, begins, kDirectorySignature)) {
    return std::nullopt;
  }
  // An offset past the directory's real place has wrapped or lies: no prefix explains it.
  const std::uint64_t prefix = directory.offset <= begins ? begins - directory.offset : 0;
  const bool count_fits = directory.count <= directory.size / kSmallestRecord;
  return ZipRange{prefix, end_at + kEndSize + comment, begins, directory.size, count_fits};
}

// Whether libzip meets one end record only, given the archive at `range`. `tail`: the bytes from
// `tail_begin` on, as far as they are read already.
bool has_only_end(const Source& source, const ZipRange& range, std::uint64_t tail_begin,
                  std::string_view tail) {
  const std::uint64_t begin = range.end - std::min(range.end - range.begin, kSearched);
  std::vector<std::byte> bytes;
  if (begin < tail_begin || range.end > tail_begin + tail.size()) {
    bytes = read_bytes(source, begin, range.end - begin);
    tail = text_view(bytes);
  } else {
    tail = tail.substr(begin - tail_begin, range.end - begin);
  }
  return tail.find(kEndSignature) == tail.rfind(kEndSignature);
}

// The last archive whose end record begins in [end - 22 - 65536, limit - 22]. The last one counts
// even where it stands in the comment of another, as for Python's zipfile, and so for NumPy.
std::optional<ZipRange> last_archive_before(const Source& source, std::uint64_t limit,
                                            std::uint64_t end) {
  if (limit < kEndSize) {
    return std::nullopt;
  }
  const std::uint64_t begin = end - std::min(end, kSearched);
  const auto tail = read_bytes(source, begin, limit - begin);
  const std::string_view text = text_view(tail);
  for (std::size_t at = text.size() - kEndSize;; --at) {
    at = text.rfind(kEndSignature, at);
    if (at == std::string_view::npos) {
      return std::nullopt;
    }
    if (auto range = archive_ending_at(source, begin + at)) {
      range->only_end = has_only_end(source, *range, begin, text);
      return range;
    }
    if (at == 0) {
      return std::nullopt;
    }
  }
}

// Where the zero bytes at the end of the source begin.
std::uint64_t end_without_zeros(const Source& source) {
  constexpr std::uint64_t kPiece = std::uint64_t{256} << 10;
  std::uint64_t end = source.size();
  while (end > 0) {
    const std::uint64_t piece = std::min(end, kPiece);
    const auto bytes = read_bytes(source, end - piece, piece);
    const auto last =
        std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte b) { return b != std::byte{0}; });
    end -= static_cast<std::uint64_t>(last - bytes.rbegin());
    if (last != bytes.rend()) {
      break;
    }
  }
  return end;
}

}  // namespace

std::optional<ZipRange> find_zip(const Source& source) {
  if (const auto range = last_archive_before(source, source.size(), source.size())) {
    return range;
  }
  // An end record may itself end in up to 20 zeros.
  const std::uint64_t end = end_without_zeros(source);
  const std::uint64_t limit = std::min(source.size(), end + kEndSize);
  return limit < source.size() ? last_archive_before(source, limit, end) : std::nullopt;
}

std::string describe_cut_zip(const Source& source) {
  std::uint64_t members = 0;
  std::uint64_t at = 0;
  while (has_signature(source, at, kLocalSignature) && source.size() - at >= 30) {
    const auto header = read_bytes(source, at, 30);
    ByteReader in(Bytes(header).subspan(6));
    const bool sizes_follow =
        (in.u16() & 8) != 0;  // in a data descriptor, behind data of unknown length
    in.skip(10);
    std::uint64_t stored = in.u32();
    in.skip(4);
    const std::uint64_t name = in.u16();
    const std::uint64_t extra = in.u16();
    const std::uint64_t data = at + 30 + name + extra;
    if (stored == 0xFFFFFFFF && extra >= 20 && data <= source.size()) {
      const auto field = read_bytes(source, data - extra, 20);
      ByteReader field_in(field);
      const bool zip64 = field_in.u16() == 1 && field_in.u16() >= 16;
      field_in.skip(8);
      stored = zip64 ? field_in.u64() : stored;
    }
    if (sizes_follow || data > source.size() || stored > source.size() - data) {
      break;
    }
    ++members;
    at = data + stored;
  }
  return text_of("the zip archive has no central directory at its end, so it was cut short; ",
                 members, members == 1 ? " complete member ends" : " complete members end",
                 " at byte ", at, " of ", source.size(), kFetchAgain);
}

}  // namespace npyfs
