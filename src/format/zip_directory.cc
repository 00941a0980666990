#include "format/zip_directory.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "npyfs/base/bytes.h"
#include "npyfs/base/text.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

// Layouts: APPNOTE 4.3.7 (local header), 4.3.12 (record), 4.3.14 to 4.3.16 (ends), 4.5.3 (zip64
// field).
constexpr std::uint32_t kRecordSignature = 0x02014b50;
constexpr std::size_t kRecordSize = 46;
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;  // the value is in the zip64 field
constexpr std::uint16_t kEncrypted = 1;
constexpr std::uint16_t kUtf8 = 1U << 11;
constexpr std::size_t kMostComment = 65535;
constexpr std::uint16_t kAes = 99;  // method of WinZip: the true one is in a field

void put(std::string& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    out += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

struct Record {
  std::uint16_t made_by = 0;
  std::uint16_t needed = 0;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t time = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint32_t attributes = 0;
  std::uint64_t offset = 0;
  std::string_view name;
};

// The data of the zip64 field among `extra`; empty if there is none, or none that is whole.
Bytes zip64_field(Bytes extra) {
  ByteReader in(extra);
  while (in.remaining() >= 4) {
    const std::uint16_t id = in.u16();
    const std::uint16_t length = in.u16();
    if (length > in.remaining()) {
      return {};
    }
    const Bytes data = in.take(length);
    if (id == kZip64Field) {
      return data;
    }
  }
  return {};
}

std::optional<Record> read_record(ByteReader& in) {
  if (in.remaining() < kRecordSize || in.u32() != kRecordSignature) {
    return std::nullopt;
  }
  Record record;
  record.made_by = in.u16();
  record.needed = in.u16();
  record.flags = in.u16();
  record.method = in.u16();
  record.time = in.u32();
  record.crc32 = in.u32();
  record.stored_size = in.u32();
  record.size = in.u32();
  const std::size_t name_length = in.u16();
  const std::size_t extra_length = in.u16();
  const std::size_t comment_length = in.u16();
  in.skip(4);  // disk, internal attributes
  record.attributes = in.u32();
  record.offset = in.u32();
  if (in.remaining() < name_length + extra_length + comment_length) {
    return std::nullopt;
  }
  record.name = text_view(in.take(name_length));
  ByteReader field(zip64_field(in.take(extra_length)));
  in.skip(comment_length);
  for (std::uint64_t* value : {&record.size, &record.stored_size, &record.offset}) {
    if (*value == kIn64 && field.remaining() >= 8) {
      *value = std::min<std::uint64_t>(field.u64(), INT64_MAX);
    }
  }
  return record;
}

void write_record(const Record& record, std::string& out) {
  std::string field;
  for (const std::uint64_t value : {record.size, record.stored_size, record.offset}) {
    if (value >= kIn64) {
      put(field, value, 8);
    }
  }
  const bool is_aes = record.method == kAes;
  const unsigned flags = record.flags & ~(is_utf8(record.name) ? 0U : kUtf8);
  put(out, kRecordSignature, 4);
  put(out, record.made_by, 2);
  put(out, record.needed, 2);
  put(out, flags | (is_aes ? kEncrypted : 0U), 2);
  put(out, is_aes ? 0 : record.method, 2);
  put(out, record.time, 4);
  put(out, record.crc32, 4);
  put(out, std::min(record.stored_size, kIn64), 4);
  put(out, std::min(record.size, kIn64), 4);
  put(out, record.name.size(), 2);
  put(out, field.empty() ? 0 : field.size() + 4, 2);
  put(out, 0, 6);  // comment, disk, internal attributes
  put(out, record.attributes, 4);
  put(out, std::min(record.offset, kIn64), 4);
  out += record.name;
  if (!field.empty()) {
    put(out, kZip64Field, 2);
    put(out, field.size(), 2);
    out += field;
  }
}

// What needn't be right in a local header, since the directory has it: time and zip64 sizes.
std::string local_header(const Record& record) {
  std::string out;
  put(out, 0x04034b50, 4);
  put(out, record.needed, 2);
  put(out, record.flags, 2);
  put(out, record.method, 2);
  put(out, record.time, 4);
  put(out, record.crc32, 4);
  put(out, std::min(record.stored_size, kIn64), 4);
  put(out, std::min(record.size, kIn64), 4);
  put(out, record.name.size(), 2);
  put(out, 0, 2);
  out += record.name;
  return out;
}

// The zip64 end record, its locator and the end record of a directory of `count` records at
// `begin`. The longest comment there can be keeps libzip from finding another end record: it looks
// no further back than this one.
void write_ends(std::uint64_t begin, std::uint64_t count, std::string& out) {
  const std::uint64_t size = out.size();
  put(out, 0x06064b50, 4);
  put(out, 44, 8);  // what follows of this record
  put(out, 45, 2);
  put(out, 45, 2);
  put(out, 0, 8);  // disks
  put(out, count, 8);
  put(out, count, 8);
  put(out, size, 8);
  put(out, begin, 8);
  put(out, 0x07064b50, 4);
  put(out, 0, 4);
  put(out, begin + size, 8);
  put(out, 1, 4);
  put(out, 0x06054b50, 4);
  put(out, 0, 4);  // disks
  put(out, std::min<std::uint64_t>(count, 0xFFFF), 2);
  put(out, std::min<std::uint64_t>(count, 0xFFFF), 2);
  put(out, std::min(size, kIn64), 4);
  put(out, std::min(begin, kIn64), 4);
  put(out, kMostComment, 2);
  out.append(kMostComment, '\0');
}

}  // namespace

SourcePtr with_own_directory(const SourcePtr& source, const ZipRange& range) {
  if (range.directory_size > kMostOwnDirectory) {
    return nullptr;
  }
  const auto old = read_bytes(*source, range.directory, range.directory_size);
  std::string own;
  own.reserve(old.size() + 128);
  std::uint64_t count = 0;
  for (ByteReader in(old); in.remaining() > 0; ++count) {
    const auto record = read_record(in);
    if (!record) {
      return nullptr;
    }
    write_record(*record, own);
  }
  const std::uint64_t begin = range.directory - range.begin;
  write_ends(begin, count, own);
  return concat({slice(source, range.begin, begin), memory(own)});
}

SourcePtr archive_of_one(SourcePtr stored, const ZipMember& member) {
  Record record;
  record.needed = 63;  // the latest: any method
  record.flags = member.flags;
  record.method = static_cast<std::uint16_t>(member.method);
  record.crc32 = member.crc32;
  record.stored_size = stored->size();
  record.size = member.size;
  record.name = "member";
  const std::string local = local_header(record);
  std::string directory;
  write_record(record, directory);
  write_ends(local.size() + stored->size(), 1, directory);
  return concat({memory(local), std::move(stored), memory(directory)});
}

}  // namespace npyfs
