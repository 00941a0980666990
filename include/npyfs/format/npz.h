// A .npz archive: a zip whose members are .npy images, and whatever else people put into one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npyfs/format/array_info.h"
#include "npyfs/format/store.h"
#include "npyfs/format/zip.h"
#include "npyfs/source/file.h"

namespace npyfs {

class Npz final : public Store {
 public:
  // Something about a member that isn't as it should be, for errors.json.
  struct Remark {
    std::uint32_t index = 0;
    Error error;
  };

  // Reads directory and headers. `shown_as`: the file's path as the manifest gives it. Throws Error
  // (EIO) if the file isn't a usable zip archive; damaged members don't.
  static std::unique_ptr<const Npz> read(std::shared_ptr<const File> file, std::string shown_as,
                                         std::shared_ptr<Decoder> decoder);

  std::uint32_t count() const { return archive_->count(); }
  const ZipArchive& archive() const { return *archive_; }

  // Null for a member that is no array.
  const std::shared_ptr<const ArrayInfo>& info(std::uint32_t index) const {
    return infos_[info_of_[index]];
  }

  // True if a member is a .npy image with a header that can be read.
  bool has_arrays() const;

  const std::vector<Remark>& remarks() const { return remarks_; }

  std::string key(std::uint32_t index) const override;
  std::uint64_t size(std::uint32_t index) const override { return archive_->size(index); }
  SourcePtr open(std::uint32_t index) const override;
  void check(std::uint32_t) const override { file_->check(); }
  Origin origin(std::uint32_t index) const override;
  std::optional<std::uint64_t> member_id(std::uint32_t index) const override {
    return archive_->member_id(index);
  }
  std::int64_t mtime_ns(std::uint32_t) const override { return file_->identity().mtime_ns; }

 private:
  class Headers;
  using Misnamed = std::map<std::uint32_t, Error>;  // members called .npy that are none

  Npz(std::shared_ptr<const File> file, std::string shown_as)
      : file_(std::move(file)), shown_as_(std::move(shown_as)) {}

  void note_faults();
  void note_misnamed(const Misnamed& misnamed);
  void apply_sidecars(Misnamed& misnamed);
  std::optional<Sidecar> sidecar(std::uint32_t index);
  void apply_sidecar(const Sidecar& sidecar, std::uint32_t target);
  std::uint32_t add_info(ArrayInfo info);

  std::shared_ptr<const File> file_;
  std::string shown_as_;
  std::unique_ptr<const ZipArchive> archive_;
  std::vector<std::uint32_t> info_of_;                   // of each member, in infos_
  std::vector<std::shared_ptr<const ArrayInfo>> infos_;  // the first is null: no array
  std::vector<Remark> remarks_;
};

}  // namespace npyfs
