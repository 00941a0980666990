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
  explicit ZipAdapter(SourcePtr source) : source_(std::move(source)) {}
  ZipAdapter(const ZipAdapter&) = delete;
  ZipAdapter& operator=(const ZipAdapter&) = delete;

  // Opens the archive read-only. The adapter must outlive the handle. Throws Error (EIO) with
  // libzip's reason.
  ZipHandle open();

  // Where the member's local header is, which libzip knows and doesn't tell: asked for what else
  // stands there it goes to look, and is given nothing to read. From then on the handle is good
  // for the directory only. nullopt with libzip's reason in the handle.
  std::optional<std::uint64_t> locate(zip_t* archive, std::uint64_t index);

 private:
  static zip_int64_t callback(void* self, void* data, zip_uint64_t length,
                              zip_source_cmd_t command);
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command);
  zip_int64_t read(std::byte* dst, std::uint64_t length);
  zip_int64_t seek(const void* data, zip_uint64_t length);

  SourcePtr source_;
  std::uint64_t position_ = 0;
  std::uint64_t window_begin_ = 0;
  std::vector<std::byte> window_;
  bool locating_ = false;
  std::optional<std::uint64_t> sought_;  // where libzip went first
  zip_error_t error_ = {};
};

}  // namespace npyfs
