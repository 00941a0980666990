// What the files of a directory source are: images, data with a sidecar, archives.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/format/npz.h"
#include "npyfs/format/sidecar.h"

#include "tree/directory_walk.h"
#include "tree/loader.h"

namespace npyfs {

inline constexpr std::string_view kMetaEnding = ".meta.json";

// Endings under which the bytes of an array X may lie, in the order in which they are looked for.
inline constexpr std::array<std::string_view, 3> kDataEndings = {".npy", ".raw", ".bin"};

// Paths are relative to the root of `walk`. One thread.
class DiskFiles {
 public:
  // A file taken for an array.
  struct Found {
    std::shared_ptr<const ArrayInfo> info;
    std::string_view ending;          // of the path, what isn't the key's
    std::string_view sidecar_ending;  // of the sidecar that was used, if any
    bool is_image = false;
  };
  struct Archive {
    const Npz* npz = nullptr;
    std::uint32_t store = 0;
    std::vector<bool> taken;  // members that an index has put elsewhere
  };

  // Both must outlive it.
  DiskFiles(Loader& loader, const DirectoryWalk& walk);

  std::shared_ptr<const File> file(const std::string& path, const FileIdentity& identity) const;

  // The file as an array; nullopt if its name or content say that it is none. Damage is part of the
  // result. Throws Error (EIO) if the name promises an image and there is none, or a sidecar
  // doesn't fit.
  std::optional<Found> describe(const std::string& path, const File& file) const;

  // The file as a sidecar; nullopt if it is none, or there is none.
  std::optional<Sidecar> sidecar(const std::string& path) const;

  // The file as an archive, read once and then a store of the loader's; null if it is none. One
  // that is called .npz and can't be read becomes a problem, once.
  Archive* archive(const std::string& path, const FileIdentity& identity);

  // Closes what is open.
  void close_all() { pool_->close_all(); }

 private:
  struct SidecarFile {
    Sidecar content;
    std::string_view ending;  // of its name
  };

  std::optional<SidecarFile> sidecar_of(const std::string& stem_path) const;
  std::string unread_sidecar(const std::string& stem_path) const;
  std::optional<std::vector<std::byte>> small_file(const std::string& path) const;
  std::unique_ptr<const Npz> read_archive(const std::string& path, const FileIdentity& identity);

  Loader& loader_;
  const DirectoryWalk& walk_;
  std::shared_ptr<FilePool> pool_;
  std::map<std::string, std::optional<Archive>> archives_;  // looked at so far
};

}  // namespace npyfs
