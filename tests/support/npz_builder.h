// Zip archives put together byte by byte, so that a test can read what is wrong with one.
//
//   const auto bytes = NpzBuilder()
//                          .stored("a.npy", npy_image("'<f4'", {3}, data))
//                          .deflated("b.npy", image).with_wrong_crc()
//                          .comment("made by hand")
//                          .bytes();
//
// Layout: PKWARE APPNOTE 4.3. A `with_` speaks of the member added last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/format/shape.h"

namespace npyfs {

class NpzBuilder {
 public:
  NpzBuilder& stored(std::string_view name, Bytes content);
  NpzBuilder& deflated(std::string_view name, Bytes content);
  // Of any method (APPNOTE 4.4.5): `stored` goes in as it is.
  NpzBuilder& member(std::string_view name, std::uint16_t method, Bytes stored, std::uint64_t size,
                     std::uint32_t crc32);

  NpzBuilder& with_wrong_crc();
  // What the headers claim, whatever is there.
  NpzBuilder& with_size(std::uint64_t size);
  NpzBuilder& with_stored_size(std::uint64_t size);
  NpzBuilder& with_method(std::uint16_t method);
  // Bit 0: encrypted, bit 11: the name is UTF-8.
  NpzBuilder& with_flags(std::uint16_t flags);
  NpzBuilder& with_local_name(std::string_view name);
  // As NumPy writes them: sizes of the local header in a zip64 field, always.
  NpzBuilder& with_zip64_local_header();
  // As a writer to a pipe leaves them: no sizes in the local header, but behind the data.
  NpzBuilder& with_data_descriptor();
  // Field 0xFFFF of this many bytes in the local header, as aligning writers add.
  NpzBuilder& with_padding(std::uint16_t bytes);
  // Fields of the directory's record, whole.
  NpzBuilder& with_central_extra(Bytes fields);
  NpzBuilder& with_date(std::uint16_t date);
  // The upper half is a Unix mode, where the archive says it comes from Unix.
  NpzBuilder& with_unix_mode(std::uint32_t mode);
  // Moves where the directory says the local header is.
  NpzBuilder& with_offset_error(std::int64_t bytes);

  // In front of everything; offsets don't count it, as if it had been glued on.
  NpzBuilder& prefix(Bytes bytes);
  // The same, but offsets count it, as if the archive had been written behind it.
  NpzBuilder& counted_prefix(Bytes bytes);
  NpzBuilder& comment(std::string_view text);
  // Behind everything.
  NpzBuilder& trailing(Bytes bytes);
  // A zip64 end record and its locator, needed or not; `more` bytes are its extensible data.
  NpzBuilder& zip64_end(std::size_t more = 0);

  std::vector<std::byte> bytes() const;

 private:
  struct Member {
    std::string name;
    std::string local_name;
    std::vector<std::byte> stored;
    std::string central_extra;
    std::uint64_t stored_size = 0;
    std::uint64_t size = 0;
    std::uint32_t crc32 = 0;
    std::uint32_t external = 0;
    std::int64_t offset_error = 0;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
    std::uint16_t padding = 0;
    std::uint16_t date = 0x21;  // 1980-01-01, as NumPy writes
    bool zip64_local = false;
    bool descriptor = false;
  };

  static void append_local(const Member& member, std::string& out);
  static void append_central(const Member& member, std::uint64_t offset, std::string& out);
  void append_end(std::uint64_t begin, std::uint64_t size, std::string& out) const;
  Member& last() { return members_.back(); }

  std::vector<Member> members_;
  std::string prefix_;
  std::string comment_;
  std::string trailing_;
  bool zip64_end_ = false;
  std::size_t zip64_more_ = 0;
  bool prefix_counts_ = false;
};

// A .npy image; `descr` is the text in the header, so a string with its quotes.
std::vector<std::byte> npy_image(std::string_view descr, const Shape& shape, Bytes data,
                                 bool fortran_order = false);

// The bytes 0, 1, 2 … of `size`.
std::vector<std::byte> counting_bytes(std::size_t size);

}  // namespace npyfs
