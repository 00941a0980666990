#include "npyfs/format/zip.h"

#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "npyfs/base/text.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "format/zip_adapter.h"
#include "format/zip_directory.h"
#include "format/zip_end.h"
#include "format/zip_stream.h"

namespace npyfs {
namespace {

bool decodes_itself(ZipMethod method) {
  return method == ZipMethod::kStored || method == ZipMethod::kDeflate;
}

}  // namespace

std::string zip_method_name(ZipMethod method) {
  switch (method) {
    case ZipMethod::kStored:
      return "stored";
    case ZipMethod::kDeflate:
      return "deflate";
    case ZipMethod::kBzip2:
      return "bzip2";
    case ZipMethod::kLzma:
      return "lzma";
    case ZipMethod::kZstd:
      return "zstd";
    case ZipMethod::kXz:
      return "xz";
  }
  return "method " + std::to_string(static_cast<unsigned>(method));
}

ZipArchive::ZipArchive(SourcePtr source, std::shared_ptr<Decoder> decoder, std::string origin)
    : source_(std::move(source)),
      decoder_(std::move(decoder)),
      archive_id_(decoder_->new_archive()),
      origin_(std::move(origin)) {}

std::unique_ptr<const ZipArchive> ZipArchive::read(SourcePtr source,
                                                   std::shared_ptr<Decoder> decoder,
                                                   const Head& head, const Counted& counted,
                                                   std::string origin) {
  std::unique_ptr<ZipArchive> archive(
      new ZipArchive(std::move(source), std::move(decoder), std::move(origin)));
  archive->read_directory();
  counted(archive->count());
  archive->read_members(head);
  archive->find_overlaps();
  return archive;
}

void ZipArchive::read_directory() {
  const auto range = find_zip(*source_);
  if (!range) {
    throw_corrupt(describe_cut_zip(*source_));
  }
  begin_ = range->begin;
  auto adapter = std::make_unique<ZipAdapter>(slice(source_, begin_, range->end - begin_));
  ZipHandle archive;
  try {
    if (!range->count_fits) {  // libzip would make room for that many members
      throw_corrupt("the zip archive has more members than its directory has room for",
                    kFetchAgain);
    }
    if (!range->only_end) {  // libzip could list the members of another one
      throw_corrupt(
          "the zip archive holds the end of another one in its last 64 KiB, and its "
          "directory of ",
          range->directory_size,
          " bytes can't be read apart from that; "
          "write it again");
    }
    archive = adapter->open();
  } catch (const Error&) {
    SourcePtr listing = with_own_directory(source_, *range);
    if (listing == nullptr) {
      throw;
    }
    adapter = std::make_unique<ZipAdapter>(std::move(listing));
    archive = adapter->open();
  }
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  if (entries < 0 || entries > std::numeric_limits<std::uint32_t>::max()) {
    throw_unsupported("the archive has ", entries, " members, more than npyfs numbers; split it");
  }
  members_.resize(static_cast<std::size_t>(entries));
  for (std::uint32_t i = 0; i < members_.size(); ++i) {
    read_entry(archive.get(), *adapter, i);
  }
  names_.shrink_to_fit();
  mark_superseded();
}

// Of members with the same name the last one counts, as in NumPy and Python's zipfile.
void ZipArchive::mark_superseded() {
  constexpr std::uint32_t kFree = ~std::uint32_t{0};
  const std::size_t mask = std::bit_ceil(std::size_t{2} * members_.size() + 1) - 1;
  std::vector<std::uint32_t> seen(mask + 1, kFree);  // open addressing
  for (std::uint32_t i = 0; i < count(); ++i) {
    std::size_t at = std::hash<std::string_view>()(raw_name(i)) & mask;
    while (seen[at] != kFree && raw_name(seen[at]) != raw_name(i)) {
      at = (at + 1) & mask;
    }
    if (seen[at] != kFree) {
      members_[seen[at]].is_superseded = true;
    }
    seen[at] = i;
  }
}

// Fills members_[index] from the central directory; data_offset is the local header's for now.
void ZipArchive::read_entry(zip_t* archive, ZipAdapter& adapter, std::uint32_t index) {
  ZipMember& member = members_[index];
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive, index, 0, &status) != 0) {
    set_fault(index, Error(EIO, text_of(zip_strerror(archive), kFetchAgain)), true);
    return;
  }
  const char* raw = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
  const std::string_view name = raw != nullptr ? raw : "";
  if (names_.size() + name.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw_unsupported("the names of the archive's members take more than 4 GiB; split it");
  }
  member.name_offset = static_cast<std::uint32_t>(names_.size());
  member.name_length = static_cast<std::uint16_t>(name.size());
  names_ += name;
  member.size = status.size;
  member.stored_size = status.comp_size;
  member.crc32 = status.crc;
  member.method = static_cast<ZipMethod>(status.comp_method);
  if (status.encryption_method != ZIP_EM_NONE) {
    set_fault(index,
              Error(EACCES,
                    "the member is encrypted, which npyfs can't read; unpack it with its password"),
              true);
    return;
  }
  if (member.stored_size == 0) {
    return;  // there is nothing to find
  }
  const auto local_header = adapter.locate(archive, index);
  if (!local_header) {
    set_fault(index,
              Error(EIO, text_of("the directory puts its local header past the archive's end at ",
                                 source_->size(), kFetchAgain)),
              true);
    return;
  }
  member.data_offset = begin_ + *local_header;
  const bool lacks_codec = !decodes_itself(member.method) &&
                           zip_compression_method_supported(status.comp_method, 0) == 0;
  if (lacks_codec) {
    set_fault(index,
              Error(EOPNOTSUPP, text_of("compressed with ", zip_method_name(member.method),
                                        ", which this build of libzip lacks; rewrite the archive "
                                        "with np.savez or np.savez_compressed")),
              true);
  }
}

void ZipArchive::set_fault(std::uint32_t index, const Error& error, bool unreadable) {
  const std::lock_guard lock(faults_mutex_);
  faults_.insert_or_assign(index, ZipFault{error, unreadable});
  members_[index].has_fault = true;
}

// 0 if nothing is wrong; for use while other threads may find faults.
int ZipArchive::fault_errno(std::uint32_t index) {
  const std::lock_guard lock(faults_mutex_);
  const auto known = faults_.find(index);
  return known == faults_.end() ? 0 : known->second.error.errno_value();
}

std::string_view ZipArchive::raw_name(std::uint32_t index) const {
  const ZipMember& member = members_[index];
  return std::string_view(names_).substr(member.name_offset, member.name_length);
}

std::string ZipArchive::name(std::uint32_t index) const {
  const std::string_view raw = raw_name(index);
  return is_utf8(raw) ? std::string(raw) : cp437_to_utf8(raw);
}

const ZipFault* ZipArchive::fault(std::uint32_t index) const {
  return members_[index].has_fault ? &faults_.at(index) : nullptr;
}

std::uint64_t ZipArchive::size(std::uint32_t index) const {
  const ZipMember& member = members_[index];
  return member.method == ZipMethod::kStored ? member.stored_size : member.size;
}

std::string ZipArchive::origin_of(const ZipMember& member) const {
  return origin_.empty() ? ""
                         : text_of(origin_, "; at ", member.data_offset, " to ", member.size,
                                   " bytes of CRC-32 ", std::hex, member.crc32);
}

SourcePtr ZipArchive::open(std::uint32_t index) const {
  const ZipMember& member = members_[index];
  const ZipFault* known = fault(index);
  if (known != nullptr && known->unreadable) {
    throw known->error;
  }
  if (member.method == ZipMethod::kStored) {
    return slice(source_, member.data_offset, member.stored_size);
  }
  return decoder_->open(member_id(index), member.size, member.crc32,
                        [&]() -> std::unique_ptr<Codec> {
                          SourcePtr stored = slice(source_, member.data_offset, member.stored_size);
                          return member.method == ZipMethod::kDeflate
                                     ? inflate_codec(std::move(stored), origin_of(member))
                                     : zip_stream_codec(std::move(stored), member);
                        });
}

}  // namespace npyfs
