// libzip reading from a Source, and our knowledge of where it looked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zip.h>

#include "npyfs/source/source.h"

namespace npyfs {

struct ZipCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using ZipHandle = std::unique_ptr<zip_t, ZipCloser>;
using ZipFileHandle = std::unique_ptr<zip_file_t, ZipCloser>;

// What libzip's source callback works on. libzip asks for two bytes here and four there, so reads
// go through a window. Used by one thread, like the zip_t over it.
class ZipAdapter {
 public:
  // Window over the central directory, which is read once from front to back, and over local
  // headers.
  static constexpr std::size_t kDirectoryWindow = std::size_t{64} << 10;
  static constexpr std::size_t kHeaderWindow = 512;

  explicit ZipAdapter(SourcePtr source) : source_(std::move(source)) {}
  ZipAdapter(const ZipAdapter&) = delete;
  ZipAdapter& operator=(const ZipAdapter&) = delete;

  // Opens the archive read-only. The adapter must outlive the handle. Throws Error (EIO) with
  // libzip's reason.
  ZipHandle open();

  void set_window(std::size_t bytes) { window_size_ = bytes; }

  // Where libzip went first since forget_seek: when it opens a member, the member's local header.
  void forget_seek() { first_seek_.reset(); }
  std::optional<std::uint64_t> first_seek() const { return first_seek_; }

 private:
  static zip_int64_t callback(void* self, void* data, zip_uint64_t length,
                              zip_source_cmd_t command);
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command);
  zip_int64_t read(std::byte* dst, std::uint64_t length);
  zip_int64_t seek(const void* data, zip_uint64_t length);

  SourcePtr source_;
  std::uint64_t position_ = 0;
  std::size_t window_size_ = kDirectoryWindow;
  std::uint64_t window_begin_ = 0;
  std::vector<std::byte> window_;
  std::optional<std::uint64_t> first_seek_;
  zip_error_t error_ = {};
};

}  // namespace npyfs
