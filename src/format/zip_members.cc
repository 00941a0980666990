// What a ZipArchive learns at its members: where the data of each begins, and the first bytes of
// it.
#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

#include "npyfs/base/bytes.h"
#include "npyfs/base/text.h"
#include "npyfs/format/zip.h"
#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "format/zip_stream.h"

namespace npyfs {
namespace {

constexpr std::size_t kLocalHeaderSize = 30;

// Flags (APPNOTE 4.4.4): the data is a patch, strongly encrypted, or the directory is encrypted.
constexpr unsigned kPatch = 1U << 5;
constexpr unsigned kEncryptedOtherwise = 1U << 6 | 1U << 13;

// One read of this size usually brings a member's local header and the head of its content.
constexpr std::size_t kMemberRead = 512;

}  // namespace

void ZipArchive::read_members(const Head& head) {
  constexpr std::uint32_t kShare = 256;  // members that a thread takes at a time
  std::atomic<std::uint64_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      for (std::uint64_t begin = 0; (begin = next.fetch_add(kShare)) < count();) {
        const std::uint64_t end = std::min<std::uint64_t>(begin + kShare, count());
        for (std::uint64_t i = begin; i < end; ++i) {
          read_member(static_cast<std::uint32_t>(i), head);
        }
      }
    } catch (...) {
      next = count();
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  {
    const std::size_t helpers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                                        1 + count() / (4 * kShare)) -
                                1;
    std::vector<std::jthread> threads;
    try {
      while (threads.size() < helpers) {
        threads.emplace_back(work);
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those there are must do.
    }
    work();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void ZipArchive::read_member(std::uint32_t index, const Head& head) {
  const int known = fault_errno(index);
  if (known != 0 && known != EOPNOTSUPP) {
    return;
  }
  try {
    const ZipMember& member = members_[index];
    if (member.method == ZipMethod::kStored && member.size != member.stored_size) {
      set_fault(
          index,
          Error(EIO, text_of("stored, but the directory says ", member.stored_size,
                             " bytes lie there and ", member.size, " are meant", kFetchAgain)),
          false);
    }
    if (member.stored_size == 0) {
      if (size(index) > 0) {
        throw_corrupt("its data ends after 0 of the ", size(index), " bytes declared", kFetchAgain);
      }
      head(*this, index, {}, true);
      return;
    }
    const std::vector<std::byte> stored = read_local_header(index);
    if (known != 0) {
      return;
    }
    for (std::size_t wanted = kFirstHead;;) {
      const std::vector<std::byte> content = content_head(index, stored, wanted);
      const std::uint64_t declared = size(index);
      if (content.size() < std::min<std::uint64_t>(wanted, declared)) {
        set_fault(index,
                  Error(EIO, text_of("its data ends after ", content.size(), " of the ", declared,
                                     " bytes declared", kFetchAgain)),
                  false);
      }
      const bool is_all = content.size() < wanted || content.size() == declared;
      const std::size_t rather = head(*this, index, content, is_all);
      if (is_all || rather <= wanted) {
        return;
      }
      wanted = rather;
    }
  } catch (const Error& e) {
    if (e.errno_value() == ESTALE) {
      throw;
    }
    set_fault(index, e, true);
  }
}

// Checks the local header and replaces the member's data_offset by its content's. Returns the first
// stored bytes of the content, as many as came with the read.
std::vector<std::byte> ZipArchive::read_local_header(std::uint32_t index) {
  ZipMember& member = members_[index];
  const std::uint64_t at = member.data_offset;
  const std::uint64_t left = at < source_->size() ? source_->size() - at : 0;
  std::vector<std::byte> bytes =
      read_bytes(*source_, at, std::min<std::uint64_t>(left, kMemberRead + member.name_length));
  ByteReader in(bytes);
  if (left < kLocalHeaderSize || in.u32() != 0x04034b50) {
    throw_corrupt("the directory puts its local header at byte ", at, ", but there is none",
                  kFetchAgain);
  }
  in.skip(2);
  member.flags = in.u16();
  if ((member.flags & kPatch) != 0) {
    throw_unsupported(
        "its data is a patch of another file's, says flag 5 of its local header; "
        "rewrite the archive with np.savez");
  }
  if ((member.flags & kEncryptedOtherwise) != 0) {
    throw Error(EACCES,
                "the member is encrypted, which npyfs can't read; unpack it with its password");
  }
  in.skip(18);
  const std::size_t name_length = in.u16();
  const std::size_t extra_length = in.u16();
  const std::string_view local = text_view(in.take(std::min(name_length, in.remaining())));
  // libzip shows a NUL as a blank; for Python, and so here, the name ends there.
  const std::size_t nul = local.find('\0');
  std::string shown(nul == std::string_view::npos ? "" : local);
  std::ranges::replace(shown, '\0', ' ');
  if ((shown.empty() ? local : shown) != raw_name(index)) {
    throw_corrupt("the local header at byte ", at, " belongs to another member, '",
                  escape_invalid_utf8(local), "'", kFetchAgain);
  }
  member.name_length = static_cast<std::uint16_t>(std::min<std::size_t>(member.name_length, nul));
  member.data_offset = at + kLocalHeaderSize + name_length + extra_length;
  if (member.data_offset > source_->size() ||
      member.stored_size > source_->size() - member.data_offset) {
    throw_corrupt("its ", member.stored_size, " stored bytes at ", member.data_offset,
                  " run past the archive's end at ", source_->size(), kFetchAgain);
  }
  const std::size_t skipped = member.data_offset - at;
  bytes.erase(bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, bytes.size())));
  bytes.resize(std::min<std::uint64_t>(bytes.size(), member.stored_size));
  return bytes;
}

// The first `wanted` bytes of the content, or all there are. `stored` is what is read already.
std::vector<std::byte> ZipArchive::content_head(std::uint32_t index, Bytes stored,
                                                std::size_t wanted) const {
  const ZipMember& member = members_[index];
  const std::uint64_t total = size(index);
  wanted = std::min<std::uint64_t>(wanted, total);
  std::vector<std::byte> content(wanted);
  if (member.method == ZipMethod::kStored) {
    if (wanted <= stored.size()) {
      std::copy_n(stored.begin(), wanted, content.begin());
    } else {
      source_->read(member.data_offset, content);
    }
    return content;
  }
  if (member.method != ZipMethod::kDeflate) {
    const SourcePtr compressed = slice(source_, member.data_offset, member.stored_size);
    zip_stream_codec(compressed, member)->start()->produce(content);
    return content;
  }
  std::size_t got = inflate_prefix(stored, content);
  std::vector<std::byte> more;
  for (std::uint64_t piece = stored.size(); got < wanted && piece < member.stored_size;) {
    piece = std::min<std::uint64_t>(member.stored_size, std::max<std::uint64_t>(2 * piece, wanted));
    more = read_bytes(*source_, member.data_offset, piece);
    got = inflate_prefix(more, content);
  }
  content.resize(got);
  return content;
}

// Members whose data share bytes are a bomb or a damaged directory, not an archive: NumPy and
// Python refuse them too. Two entries for one and the same member are harmless.
void ZipArchive::find_overlaps() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < count(); ++i) {
    const ZipFault* known = fault(i);
    if (members_[i].stored_size > 0 && (known == nullptr || !known->unreadable)) {
      order.push_back(i);
    }
  }
  const auto by_place = [this](std::uint32_t a, std::uint32_t b) {
    return members_[a].data_offset < members_[b].data_offset;
  };
  if (!std::ranges::is_sorted(order, by_place)) {
    std::ranges::stable_sort(order, by_place);
  }
  std::size_t furthest = 0;  // of those before, the one whose data ends last
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ZipMember& before = members_[order[furthest]];
    const ZipMember& after = members_[order[i]];
    const std::uint64_t distance = after.data_offset - before.data_offset;
    const bool same =
        before.data_offset == after.data_offset && before.stored_size == after.stored_size;
    if (!same && distance < before.stored_size) {
      const auto overlaps = [&](std::uint32_t other) {
        return Error(EIO, text_of("its data overlaps that of '", name(other),
                                  "': ", before.stored_size, " bytes at ", before.data_offset,
                                  " run past byte ", after.data_offset, kFetchAgain));
      };
      set_fault(order[furthest], overlaps(order[i]), true);
      set_fault(order[i], overlaps(order[furthest]), true);
    }
    if (distance + after.stored_size > before.stored_size) {
      furthest = i;
    }
  }
}

}  // namespace npyfs
