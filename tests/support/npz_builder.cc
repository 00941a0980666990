#include "support/npz_builder.h"

#include <algorithm>

#include "npyfs/format/npy_header.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::uint32_t kLocalMagic = 0x04034b50;
constexpr std::uint32_t kCentralMagic = 0x02014b50;
constexpr std::uint32_t kEndMagic = 0x06054b50;
constexpr std::uint32_t kZip64EndMagic = 0x06064b50;
constexpr std::uint32_t kZip64LocatorMagic = 0x07064b50;
constexpr std::uint32_t kDescriptorMagic = 0x08074b50;
constexpr std::uint64_t kOver32 = 0xFFFFFFFF;
constexpr std::uint16_t kDescriptorFlag = 1U << 3;
constexpr std::uint16_t kVersion = 45;
constexpr std::uint16_t kVersionUnix = 3U << 8 | kVersion;

void put(std::string& out, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    out += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

std::uint64_t or_over(std::uint64_t value) { return std::min(value, kOver32); }

// The fields from "flags" to "extra length", which local and central headers share.
struct Shared {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint16_t date = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::size_t name_length = 0;
  std::size_t extra_length = 0;
};

void put_shared(std::string& out, const Shared& fields) {
  put(out, fields.flags, 2);
  put(out, fields.method, 2);
  put(out, 0, 2);
  put(out, fields.date, 2);
  put(out, fields.crc32, 4);
  put(out, fields.stored_size, 4);
  put(out, fields.size, 4);
  put(out, fields.name_length, 2);
  put(out, fields.extra_length, 2);
}

}  // namespace

NpzBuilder& NpzBuilder::stored(std::string_view name, Bytes content) {
  return member(name, 0, content, content.size(), crc32_of(content));
}

NpzBuilder& NpzBuilder::deflated(std::string_view name, Bytes content) {
  return member(name, 8, deflate_bytes(content), content.size(), crc32_of(content));
}

NpzBuilder& NpzBuilder::member(std::string_view name, std::uint16_t method, Bytes stored,
                               std::uint64_t size, std::uint32_t crc32) {
  Member member;
  member.name = name;
  member.local_name = name;
  member.stored.assign(stored.begin(), stored.end());
  member.stored_size = stored.size();
  member.size = size;
  member.crc32 = crc32;
  member.method = method;
  members_.push_back(std::move(member));
  return *this;
}

NpzBuilder& NpzBuilder::with_wrong_crc() {
  last().crc32 ^= 1;
  return *this;
}

NpzBuilder& NpzBuilder::with_size(std::uint64_t size) {
  last().size = size;
  return *this;
}

NpzBuilder& NpzBuilder::with_stored_size(std::uint64_t size) {
  last().stored_size = size;
  return *this;
}

NpzBuilder& NpzBuilder::with_method(std::uint16_t method) {
  last().method = method;
  return *this;
}

NpzBuilder& NpzBuilder::with_flags(std::uint16_t flags) {
  last().flags |= flags;
  return *this;
}

NpzBuilder& NpzBuilder::with_local_name(std::string_view name) {
  last().local_name = name;
  return *this;
}

NpzBuilder& NpzBuilder::with_zip64_local_header() {
  last().zip64_local = true;
  return *this;
}

NpzBuilder& NpzBuilder::with_data_descriptor() {
  last().descriptor = true;
  last().flags |= kDescriptorFlag;
  return *this;
}

NpzBuilder& NpzBuilder::with_padding(std::uint16_t bytes) {
  last().padding = bytes;
  return *this;
}

NpzBuilder& NpzBuilder::with_central_extra(Bytes fields) {
  last().central_extra = text_view(fields);
  return *this;
}

NpzBuilder& NpzBuilder::with_date(std::uint16_t date) {
  last().date = date;
  return *this;
}

NpzBuilder& NpzBuilder::with_unix_mode(std::uint32_t mode) {
  last().external = mode << 16;
  return *this;
}

NpzBuilder& NpzBuilder::with_offset_error(std::int64_t bytes) {
  last().offset_error = bytes;
  return *this;
}

NpzBuilder& NpzBuilder::prefix(Bytes bytes) {
  prefix_ = text_view(bytes);
  return *this;
}

NpzBuilder& NpzBuilder::counted_prefix(Bytes bytes) {
  prefix_counts_ = true;
  return prefix(bytes);
}

NpzBuilder& NpzBuilder::comment(std::string_view text) {
  comment_ = text;
  return *this;
}

NpzBuilder& NpzBuilder::trailing(Bytes bytes) {
  trailing_ = text_view(bytes);
  return *this;
}

NpzBuilder& NpzBuilder::zip64_end(std::size_t more) {
  zip64_end_ = true;
  zip64_more_ = more;
  return *this;
}

void NpzBuilder::append_local(const Member& member, std::string& out) {
  const bool known = !member.descriptor;
  const bool zip64 = member.zip64_local || member.size > kOver32 || member.stored_size > kOver32;
  std::string extra;
  if (zip64) {
    put(extra, 1, 2);
    put(extra, 16, 2);
    put(extra, known ? member.size : 0, 8);
    put(extra, known ? member.stored_size : 0, 8);
  }
  if (member.padding > 0) {
    put(extra, 0xFFFF, 2);
    put(extra, member.padding, 2);
    extra.append(member.padding, '\0');
  }
  put(out, kLocalMagic, 4);
  put(out, kVersion, 2);
  const std::uint64_t stored_size = zip64 ? kOver32 : known ? member.stored_size : 0;
  const std::uint64_t size = zip64 ? kOver32 : known ? member.size : 0;
  put_shared(out, {member.flags, member.method, member.date, known ? member.crc32 : 0, stored_size,
                   size, member.local_name.size(), extra.size()});
  out += member.local_name + extra;
  out += text_view(member.stored);
  if (member.descriptor) {
    put(out, kDescriptorMagic, 4);
    put(out, member.crc32, 4);
    put(out, member.stored_size, zip64 ? 8 : 4);
    put(out, member.size, zip64 ? 8 : 4);
  }
}

void NpzBuilder::append_central(const Member& member, std::uint64_t offset, std::string& out) {
  std::string extra;
  for (const std::uint64_t value : {member.size, member.stored_size, offset}) {
    if (value >= kOver32) {
      put(extra, value, 8);
    }
  }
  if (!extra.empty()) {
    std::string field;
    put(field, 1, 2);
    put(field, extra.size(), 2);
    extra = field + extra;
  }
  extra += member.central_extra;
  put(out, kCentralMagic, 4);
  put(out, kVersionUnix, 2);
  put(out, kVersion, 2);
  put_shared(out,
             {member.flags, member.method, member.date, member.crc32, or_over(member.stored_size),
              or_over(member.size), member.name.size(), extra.size()});
  put(out, 0, 2);  // length of a comment
  put(out, 0, 2);  // disk
  put(out, 0, 2);  // internal attributes
  put(out, member.external, 4);
  put(out, or_over(offset), 4);
  out += member.name + extra;
}

void NpzBuilder::append_end(std::uint64_t begin, std::uint64_t size, std::string& out) const {
  const std::uint64_t count = members_.size();
  if (zip64_end_ || count > 0xFFFF) {
    const std::uint64_t at = begin + size;
    put(out, kZip64EndMagic, 4);
    put(out, 44 + zip64_more_, 8);  // what follows of this record
    put(out, kVersionUnix, 2);
    put(out, kVersion, 2);
    put(out, 0, 4);
    put(out, 0, 4);
    put(out, count, 8);
    put(out, count, 8);
    put(out, size, 8);
    put(out, begin, 8);
    out.append(zip64_more_, 'x');
    put(out, kZip64LocatorMagic, 4);
    put(out, 0, 4);
    put(out, at, 8);
    put(out, 1, 4);
  }
  put(out, kEndMagic, 4);
  put(out, 0, 4);
  put(out, std::min<std::uint64_t>(count, 0xFFFF), 2);
  put(out, std::min<std::uint64_t>(count, 0xFFFF), 2);
  put(out, or_over(size), 4);
  put(out, or_over(begin), 4);
  put(out, comment_.size(), 2);
  out += comment_;
}

std::vector<std::byte> NpzBuilder::bytes() const {
  std::string archive = prefix_counts_ ? prefix_ : "";
  std::string directory;
  for (const Member& member : members_) {
    const std::uint64_t offset = archive.size() + static_cast<std::uint64_t>(member.offset_error);
    append_central(member, offset, directory);
    append_local(member, archive);
  }
  const std::uint64_t begin = archive.size();
  archive += directory;
  append_end(begin, directory.size(), archive);
  const std::string all = (prefix_counts_ ? "" : prefix_) + archive + trailing_;
  const Bytes bytes = bytes_of(all);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> npy_image(std::string_view descr, const Shape& shape, Bytes data,
                                 bool fortran_order) {
  const std::string header = write_npy_header(descr, shape, fortran_order);
  const Bytes bytes = bytes_of(header);
  std::vector<std::byte> image(bytes.begin(), bytes.end());
  image.insert(image.end(), data.begin(), data.end());
  return image;
}

std::vector<std::byte> counting_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i);
  }
  return bytes;
}

}  // namespace npyfs
