// A zip archive: its members, and the bytes of each.
//
// The central directory is read once, through libzip; then every member's local header is read,
// since only it says where the data begins (its name and extra fields have lengths of their own,
// which differ from the directory's in every file NumPy writes). After that a stored member is a
// slice of the archive and a deflated one a decoder over such a slice; libzip is only asked again
// for the methods that npyfs doesn't decode itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "npyfs/base/error.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/source.h"

struct zip;  // libzip's zip_t

namespace npyfs {

class ZipAdapter;

// APPNOTE 4.4.5.
enum class ZipMethod : std::uint16_t {
  kStored = 0,
  kDeflate = 8,
  kBzip2 = 12,
  kLzma = 14,
  kZstd = 93,
  kXz = 95
};

// "stored", "deflate", …, "method 98".
std::string zip_method_name(ZipMethod method);

// One member: 40 bytes, since there may be a million.
struct ZipMember {
  std::uint64_t data_offset = 0;  // in the archive's Source
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;  // as declared
  std::uint32_t crc32 = 0;
  std::uint32_t name_offset = 0;
  std::uint16_t name_length = 0;
  ZipMethod method = ZipMethod::kStored;
  std::uint16_t flags = 0;  // of its local header
  bool has_fault = false;
  bool is_superseded = false;  // a later member has the same name and counts instead
};

// What is wrong with a member. An unreadable one throws this when opened; another is served as it
// is stored.
struct ZipFault {
  Error error;
  bool unreadable = true;
};

class ZipArchive {
 public:
  // Called for each readable member while the local headers are read, from several threads, with
  // the first bytes of its content, decoded; `is_all`: no more can be had, whatever size is
  // declared. Returns how many it would rather have; if that is more, it is called again with that
  // many, or all there are.
  using Head = std::function<std::size_t(const ZipArchive& archive, std::uint32_t index, Bytes head,
                                         bool is_all)>;

  // Called once before the first Head, with the number of members.
  using Counted = std::function<void(std::uint32_t members)>;

  // Bytes of content offered at first: what a NumPy header usually takes.
  static constexpr std::size_t kFirstHead = 128;

  // Reads the archive's directory and local headers. `decoder` decodes members later. `origin`
  // tells the source from any other, also of another day; without it nothing of its members is kept
  // beyond the process. Throws Error (EIO) if there is no usable central directory; the text says
  // what there is instead.
  static std::unique_ptr<const ZipArchive> read(SourcePtr source, std::shared_ptr<Decoder> decoder,
                                                const Head& head, const Counted& counted,
                                                std::string origin = {});

  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // The upper half of the numbers by which the Decoder knows the members; the lower is the index.
  std::uint64_t id() const { return archive_id_; }
  std::uint64_t member_id(std::uint32_t index) const { return archive_id_ << 32 | index; }

  std::uint32_t count() const { return static_cast<std::uint32_t>(members_.size()); }
  const ZipMember& member(std::uint32_t index) const { return members_[index]; }

  // The bytes of the name as they stand in the directory, up to a NUL.
  std::string_view raw_name(std::uint32_t index) const;

  // The same as UTF-8: names that aren't valid UTF-8 are code page 437.
  std::string name(std::uint32_t index) const;

  // Null if nothing is wrong with the member.
  const ZipFault* fault(std::uint32_t index) const;

  // What `open` gives: the declared size, or the stored size of a stored member.
  std::uint64_t size(std::uint32_t index) const;

  // The member's content. Throws its fault if that is unreadable.
  SourcePtr open(std::uint32_t index) const;

 private:
  ZipArchive(SourcePtr source, std::shared_ptr<Decoder> decoder, std::string origin);

  void read_directory();
  void mark_superseded();
  void read_members(const Head& head);
  void read_entry(zip* archive, ZipAdapter& adapter, std::uint32_t index);
  void read_member(std::uint32_t index, const Head& head);
  std::vector<std::byte> read_local_header(std::uint32_t index);
  std::vector<std::byte> content_head(std::uint32_t index, Bytes stored, std::size_t wanted) const;
  void find_overlaps();
  std::string origin_of(const ZipMember& member) const;
  int fault_errno(std::uint32_t index);
  void set_fault(std::uint32_t index, const Error& error, bool unreadable);

  SourcePtr source_;
  std::shared_ptr<Decoder> decoder_;
  std::uint64_t archive_id_;
  std::string origin_;
  std::uint64_t begin_ = 0;  // of the archive in the source
  std::string names_;
  std::vector<ZipMember> members_;
  std::mutex faults_mutex_;  // guards faults_ while `read` is under way; then they are const
  std::unordered_map<std::uint32_t, ZipFault> faults_;
};

}  // namespace npyfs
