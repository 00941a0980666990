// libzip reads all of an archive's directory whenever it opens one. So that a member costs the same
// in whatever company, it is given to libzip as the only one of an archive made for it.
#include "format/zip_stream.h"

#include <utility>

#include "npyfs/base/error.h"

#include "format/zip_adapter.h"
#include "format/zip_directory.h"

namespace npyfs {
namespace {

class ZipStreamCursor final : public Cursor {
 public:
  explicit ZipStreamCursor(SourcePtr archive)
      : adapter_(std::move(archive)), handle_(adapter_.open()) {
    file_.reset(zip_fopen_index(handle_.get(), 0, 0));
    if (file_ == nullptr) {
      throw_damage("can't be decoded: ", zip_strerror(handle_.get()));
    }
  }

  std::uint64_t position() const override { return position_; }

  void produce(std::span<std::byte> dst) override {
    while (!dst.empty()) {
      const zip_int64_t got = zip_fread(file_.get(), dst.data(), dst.size());
      if (got <= 0) {
        throw_damage(got < 0 ? zip_file_strerror(file_.get()) : "the compressed data ends",
                     " at byte ", position_, " of the member");
      }
      dst = dst.subspan(static_cast<std::size_t>(got));
      position_ += static_cast<std::uint64_t>(got);
    }
  }

  void finish() override {
    std::byte more{};
    const zip_int64_t got = zip_fread(file_.get(), &more, 1);
    if (got != 0) {
      throw_damage(got < 0 ? zip_file_strerror(file_.get()) : "the compressed data goes on",
                   " past the declared ", position_, " bytes");
    }
  }

 private:
  ZipAdapter adapter_;
  ZipHandle handle_;
  ZipFileHandle file_;
  std::uint64_t position_ = 0;
};

class ZipStreamCodec final : public Codec {
 public:
  explicit ZipStreamCodec(SourcePtr archive) : archive_(std::move(archive)) {}

  std::unique_ptr<Cursor> start() const override {
    return std::make_unique<ZipStreamCursor>(archive_);
  }

 private:
  SourcePtr archive_;
};

}  // namespace

std::unique_ptr<Codec> zip_stream_codec(SourcePtr stored, const ZipMember& member) {
  return std::make_unique<ZipStreamCodec>(archive_of_one(std::move(stored), member));
}

}  // namespace npyfs
