#include "npyfs/format/npz.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "npyfs/base/text.h"
#include "npyfs/format/sniff.h"

namespace npyfs {
namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::uint32_t kNoArray = 0;  // in infos_

// Members of one size and one header have one ArrayInfo.
std::string fingerprint(Bytes header, std::uint64_t size) {
  std::string text(text_view(header));
  text.append(reinterpret_cast<const char*>(&size), sizeof size);
  return text;
}

}  // namespace

// Collects the headers of all members while the archive reads them, from several threads.
class Npz::Headers {
 public:
  explicit Headers(Npz& npz) : npz_(npz) {}

  // What ZipArchive::Head is.
  std::size_t take(const ZipArchive& archive, std::uint32_t index, Bytes head, bool is_all) {
    if (!has_npy_magic(head)) {
      if (archive.raw_name(index).ends_with(kNpy)) {
        const Error error(EIO, "no .npy image but " + describe_no_image(head, archive.size(index)));
        const std::lock_guard lock(mutex_);
        misnamed_.emplace(index, error);
      }
      return 0;
    }
    try {
      const std::uint64_t header_size = npy_header_size(head);
      const std::uint64_t size = archive.size(index);
      if (header_size > size || (is_all && header_size > head.size())) {
        throw_corrupt("the header of ", header_size, " bytes runs past the member's ",
                      is_all ? head.size() : size, kFetchAgain);
      }
      if (header_size > head.size()) {
        return header_size;
      }
      set_image(index, head.first(header_size), size);
    } catch (const Error& e) {
      set(index, unreadable_image(e));
    }
    return 0;
  }

  Misnamed& misnamed() { return misnamed_; }

 private:
  void set_image(std::uint32_t index, Bytes header, std::uint64_t size) {
    std::string print = fingerprint(header, size);
    {
      const std::lock_guard lock(mutex_);
      const auto known = known_.find(print);
      if (known != known_.end()) {
        npz_.info_of_[index] = known->second;
        return;
      }
    }
    ArrayInfo info = describe_image(header, size);
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = known_.try_emplace(std::move(print), kNoArray);
    if (is_new) {  // another thread may have described one like it meanwhile
      known->second = npz_.add_info(std::move(info));
    }
    npz_.info_of_[index] = known->second;
  }

  void set(std::uint32_t index, ArrayInfo info) {
    const std::lock_guard lock(mutex_);
    npz_.info_of_[index] = npz_.add_info(std::move(info));
  }

  Npz& npz_;
  std::mutex mutex_;  // guards known_, misnamed_, infos_
  std::unordered_map<std::string, std::uint32_t> known_;
  Misnamed misnamed_;
};

std::unique_ptr<const Npz> Npz::read(std::shared_ptr<const File> file, std::string shown_as,
                                     std::shared_ptr<Decoder> decoder) {
  std::unique_ptr<Npz> npz(new Npz(file, std::move(shown_as)));
  npz->infos_.emplace_back(nullptr);
  Headers headers(*npz);
  const FileIdentity& identity = file->identity();
  const std::string origin = text_of("file of ", identity.size, " bytes at ", identity.mtime_ns);
  npz->archive_ = ZipArchive::read(
      std::move(file), std::move(decoder),
      [&](const ZipArchive& archive, std::uint32_t index, Bytes head, bool is_all) {
        return headers.take(archive, index, head, is_all);
      },
      [&](std::uint32_t members) { npz->info_of_.assign(members, kNoArray); }, origin);
  npz->note_faults();
  npz->apply_sidecars(headers.misnamed());
  npz->note_misnamed(headers.misnamed());
  return npz;
}

std::uint32_t Npz::add_info(ArrayInfo info) {
  infos_.push_back(std::make_shared<const ArrayInfo>(std::move(info)));
  return static_cast<std::uint32_t>(infos_.size() - 1);
}

// A member that can't be read at all is an array if its name says so; its size is all we know.
void Npz::note_faults() {
  for (std::uint32_t i = 0; i < count(); ++i) {
    const ZipFault* fault = archive_->fault(i);
    if (fault == nullptr || archive_->member(i).is_superseded) {
      continue;
    }
    const bool may_be_array = fault->unreadable && archive_->raw_name(i).ends_with(kNpy);
    if (info_of_[i] == kNoArray && !may_be_array) {
      remarks_.push_back({i, fault->error});
      continue;
    }
    ArrayInfo info = info_of_[i] == kNoArray || fault->unreadable ? unreadable_image(fault->error)
                                                                  : *infos_[info_of_[i]];
    info.error = fault->error;
    info.damaged = true;
    info_of_[i] = add_info(std::move(info));
  }
}

// Plain files, unless a sidecar has made arrays of them.
void Npz::note_misnamed(const Misnamed& misnamed) {
  for (const auto& [index, error] : misnamed) {
    const bool is_shown = !archive_->member(index).is_superseded;
    if (is_shown && info_of_[index] == kNoArray && archive_->fault(index) == nullptr) {
      remarks_.push_back({index, error});
    }
  }
}

bool Npz::has_arrays() const {
  return std::ranges::any_of(infos_,
                             [](const auto& info) { return info != nullptr && info->known; });
}

// NAME_meta.json, or else NAME.meta.json, beside NAME.npy, NAME, NAME.raw or NAME.bin tells its
// type. Of a member whose sidecar doesn't fit, that is what is said, and no more.
void Npz::apply_sidecars(Misnamed& misnamed) {
  constexpr std::array<std::string_view, 2> kEndings = {"_meta.json", ".meta.json"};
  constexpr std::array<std::string_view, 4> kTargets = {kNpy, "", ".raw", ".bin"};
  std::vector<std::pair<std::uint32_t, std::string_view>> sidecars;  // and what their name ends in
  for (const std::string_view ending : kEndings) {
    for (std::uint32_t i = 0; i < count(); ++i) {
      const bool is_named_so =
          archive_->raw_name(i).ends_with(ending) && !archive_->member(i).is_superseded;
      if (is_named_so && archive_->size(i) <= kMaxSidecarSize) {
        sidecars.emplace_back(i, ending);
      }
    }
  }
  if (sidecars.empty()) {
    return;
  }
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < count(); ++i) {
    by_name.insert_or_assign(archive_->raw_name(i), i);
  }
  std::unordered_set<std::uint32_t> told;
  for (const auto& [index, ending] : sidecars) {
    const std::string_view name = archive_->raw_name(index);
    const std::string stem(name.substr(0, name.size() - ending.size()));
    const auto target = std::ranges::find_if(kTargets, [&](std::string_view each) {
      return by_name.contains(stem + std::string(each));
    });
    if (target == kTargets.end()) {
      continue;
    }
    const std::uint32_t member = by_name.find(stem + std::string(*target))->second;
    const auto content = told.contains(member) ? std::nullopt : sidecar(index);
    if (!content) {
      continue;
    }
    told.insert(member);
    try {
      apply_sidecar(*content, member);
    } catch (const Error& e) {
      remarks_.push_back({member, e});
      misnamed.erase(member);
    }
  }
}

// The member as a sidecar; nullopt if it is none, or can't be read.
std::optional<Sidecar> Npz::sidecar(std::uint32_t index) {
  try {
    const SourcePtr source = open(index);
    return parse_sidecar(read_bytes(*source, 0, source->size()));
  } catch (const Error& e) {
    remarks_.push_back({index, e});
    return std::nullopt;
  }
}

void Npz::apply_sidecar(const Sidecar& sidecar, std::uint32_t target) {
  const auto& known = infos_[info_of_[target]];
  if (known != nullptr && known->known && known->header.empty()) {
    ArrayInfo info = *known;
    set_type(info, sidecar);
    info_of_[target] = add_info(std::move(info));
  } else if (archive_->fault(target) == nullptr) {
    info_of_[target] = add_info(describe_data(sidecar, {}, size(target)));
  }
}

std::string Npz::key(std::uint32_t index) const {
  std::string name = archive_->name(index);
  if (name.ends_with(kNpy)) {
    name.resize(name.size() - kNpy.size());
  }
  return name;
}

SourcePtr Npz::open(std::uint32_t index) const {
  try {
    return archive_->open(index);
  } catch (const Error& e) {
    throw e.prefixed(shown_as_ + ": " + escape_invalid_utf8(archive_->name(index)));
  }
}

Origin Npz::origin(std::uint32_t index) const {
  const ZipMember& member = archive_->member(index);
  const ZipFault* fault = archive_->fault(index);
  Origin origin;
  origin.file = shown_as_;
  origin.format = "npz";
  origin.member = archive_->name(index);
  const bool readable = fault == nullptr || !fault->unreadable;
  const auto& known = info(index);
  const bool as_is = known == nullptr || known->header.empty();
  if (member.method == ZipMethod::kStored && member.stored_size > 0 && readable && as_is) {
    origin.offset = member.data_offset;
  }
  origin.compression = zip_method_name(member.method);
  origin.stored_bytes = member.stored_size;
  origin.crc32 = member.crc32;
  return origin;
}

}  // namespace npyfs
