#include "tree/disk_files.h"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/resource.h>
#include <sys/stat.h>

#include "npyfs/format/sniff.h"

namespace npyfs {
namespace {

// The first that is one counts.
constexpr std::array<std::string_view, 2> kSidecarEndings = {"_meta.json", kMetaEnding};

// Half of what may be open, and at most 512: the rest is for the mount, and whoever shares the
// limit.
std::size_t most_open_files() {
  struct rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::clamp<std::size_t>(limit.rlim_cur / 2, 16, 512);
}

std::vector<std::byte> head_of(const File& file) {
  return read_bytes(file, 0, std::min<std::uint64_t>(file.size(), kSniffSize));
}

// The path less the ending of the file's name.
std::string stem_path(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;
  const std::size_t dot = path.rfind('.');
  return std::string(
      path.substr(0, dot == std::string_view::npos || dot <= name ? path.size() : dot));
}

}  // namespace

DiskFiles::DiskFiles(Loader& loader, const DirectoryWalk& walk)
    : loader_(loader), walk_(walk), pool_(std::make_shared<FilePool>(most_open_files())) {}

std::shared_ptr<const File> DiskFiles::file(const std::string& path,
                                            const FileIdentity& identity) const {
  return File::below(walk_.root(), path, identity, pool_);
}

std::optional<DiskFiles::Found> DiskFiles::describe(const std::string& path,
                                                    const File& file) const {
  const auto ending = std::ranges::find_if(
      kDataEndings, [&](std::string_view each) { return path.ends_with(each); });
  const auto head = head_of(file);
  const bool is_image = has_npy_magic(head);
  // NumPy opens an image under any name; here, one that isn't called .npy is a file like others.
  const bool is_other = is_image ? ending != kDataEndings.begin() : has_zip_magic(head);
  if (ending == kDataEndings.end() || is_other) {
    return std::nullopt;
  }
  const std::string stem = path.substr(0, path.size() - ending->size());
  auto told = sidecar_of(stem);
  if (is_image) {
    ArrayInfo info = describe_image(file, head);
    if (told) {
      set_type(info, told->content);
    }
    return Found{std::make_shared<const ArrayInfo>(std::move(info)), *ending,
                 told ? told->ending : "", true};
  }
  if (told) {
    if (told->content.ours && *ending == ".raw") {
      told->content.fortran_order = false;  // it speaks of NAME.npy; NAME.raw is in C order
    }
    try {
      auto info = describe_data(told->content, head, file.size());
      return Found{std::make_shared<const ArrayInfo>(std::move(info)), *ending, told->ending,
                   false};
    } catch (const Error& e) {
      throw e.prefixed(path);
    }
  }
  if (*ending == ".npy") {
    const std::string other = unread_sidecar(stem);
    throw_corrupt(path, ": no .npy image but ",
                  other.empty() ? describe_no_image(head, file.size())
                                : describe_bytes(head, file.size()) + other);
  }
  return std::nullopt;
}

// The sidecar of the array at `stem_path`.
std::optional<DiskFiles::SidecarFile> DiskFiles::sidecar_of(const std::string& stem_path) const {
  for (const std::string_view ending : kSidecarEndings) {
    if (auto found = sidecar(stem_path + std::string(ending))) {
      return SidecarFile{std::move(*found), ending};
    }
  }
  return std::nullopt;
}

// What to add to a message where there is a sidecar that isn't one; else nothing.
std::string DiskFiles::unread_sidecar(const std::string& stem_path) const {
  for (const std::string_view ending : kSidecarEndings) {
    if (small_file(stem_path + std::string(ending))) {
      return text_of("; ", stem_path, ending,
                     " beside it isn't JSON text with a shape and a dtype");
    }
  }
  return "";
}

std::optional<Sidecar> DiskFiles::sidecar(const std::string& path) const {
  const auto bytes = small_file(path);
  return bytes ? parse_sidecar(*bytes) : std::nullopt;
}

// The bytes of a file that may be a sidecar; nullopt if there is none or it is too large for one.
std::optional<std::vector<std::byte>> DiskFiles::small_file(const std::string& path) const {
  struct stat status = {};
  const bool fits = ::fstatat(walk_.root()->get(), path.c_str(), &status, 0) == 0 &&
                    S_ISREG(status.st_mode) &&
                    static_cast<std::uint64_t>(status.st_size) <= kMaxSidecarSize;
  if (!fits || !walk_.allowed(path)) {
    return std::nullopt;
  }
  try {
    const auto content = file(path, identity_of(status));
    return read_bytes(*content, 0, content->size());
  } catch (const Error&) {
    return std::nullopt;  // shown as a plain file, whose reader will see the reason
  }
}

DiskFiles::Archive* DiskFiles::archive(const std::string& path, const FileIdentity& identity) {
  const auto [known, fresh] = archives_.try_emplace(path);
  if (fresh) {
    if (auto npz = read_archive(path, identity)) {
      Archive archive;
      archive.npz = npz.get();
      archive.taken.assign(npz->count(), false);
      archive.store = loader_.builder().add_store(std::move(npz), stem_path(path) + "/");
      known->second = std::move(archive);
    }
  }
  return known->second ? &*known->second : nullptr;
}

// Null if the file is no archive.
std::unique_ptr<const Npz> DiskFiles::read_archive(const std::string& path,
                                                   const FileIdentity& identity) {
  const auto content = file(path, identity);
  const auto head = head_of(*content);
  const bool is_named = path.ends_with(".npz");
  if (!has_zip_magic(head) && !is_named) {
    return nullptr;
  }
  try {
    return Npz::read(content, path, loader_.decoder());
  } catch (const Error& e) {
    if (is_named) {
      const Error error =
          has_zip_magic(head)
              ? e
              : Error(EIO, "no .npz archive but " + describe_bytes(head, content->size()));
      loader_.add_problem(path, error.prefixed(path));
    }
    return nullptr;
  }
}

}  // namespace npyfs
