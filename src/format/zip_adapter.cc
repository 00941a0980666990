#include "format/zip_adapter.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

// Over the central directory, which is read from front to back, and over a member.
constexpr std::size_t kWindow = std::size_t{64} << 10;

// In a local header, of the lengths of its name and its extra field (APPNOTE 4.3.7).
constexpr std::uint64_t kLengthsOffset = 26;

}  // namespace

ZipHandle ZipAdapter::open() {
  // For every member's time libzip calls mktime, which may set the process's time zone.
  static std::mutex time_zone;
  const std::lock_guard lock(time_zone);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(&ZipAdapter::callback, this, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    zip_source_free(source);
    throw_corrupt("the zip archive can't be read: ", reason, kFetchAgain);
  }
  return ZipHandle(archive);
}

std::optional<std::uint64_t> ZipAdapter::locate(zip_t* archive, std::uint64_t index) {
  locating_ = true;
  sought_.reset();
  zip_file_extra_fields_count(archive, index, ZIP_FL_LOCAL);
  return sought_ ? std::optional(*sought_ - kLengthsOffset) : std::nullopt;
}

zip_int64_t ZipAdapter::callback(void* self, void* data, zip_uint64_t length,
                                 zip_source_cmd_t command) {
  return static_cast<ZipAdapter*>(self)->answer(data, length, command);
}

zip_int64_t ZipAdapter::answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
  switch (command) {
    case ZIP_SOURCE_OPEN:
      position_ = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return read(static_cast<std::byte*>(data), length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_STAT: {
      auto* status = ZIP_SOURCE_GET_ARGS(zip_stat_t, data, length, &error_);
      if (status == nullptr) {
        return -1;
      }
      zip_stat_init(status);
      status->valid = ZIP_STAT_SIZE;
      status->size = source_->size();
      return sizeof *status;
    }
    case ZIP_SOURCE_SEEK:
      return seek(data, length);
    case ZIP_SOURCE_TELL:
      return static_cast<zip_int64_t>(position_);
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&error_, data, length);
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(
          ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
          ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    default:
      zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

zip_int64_t ZipAdapter::read(std::byte* dst, std::uint64_t length) {
  if (locating_) {
    return 0;
  }
  const std::uint64_t left = position_ < source_->size() ? source_->size() - position_ : 0;
  length = std::min(length, left);
  try {
    for (std::uint64_t done = 0; done < length;) {
      const bool inside = position_ >= window_begin_ && position_ - window_begin_ < window_.size();
      if (!inside) {
        window_begin_ = position_;
        window_.resize(std::min<std::uint64_t>(kWindow, source_->size() - position_));
        source_->read(window_begin_, window_);
      }
      const std::size_t at = position_ - window_begin_;
      const std::size_t piece = std::min<std::uint64_t>(length - done, window_.size() - at);
      std::memcpy(dst + done, window_.data() + at, piece);
      done += piece;
      position_ += piece;
    }
  } catch (const Error& e) {
    window_.clear();
    zip_error_set(&error_, ZIP_ER_READ, e.errno_value());
    return -1;
  }
  return static_cast<zip_int64_t>(length);
}

zip_int64_t ZipAdapter::seek(const void* data, zip_uint64_t length) {
  const zip_int64_t target = zip_source_seek_compute_offset(
      position_, source_->size(), const_cast<void*>(data), length, &error_);
  if (target < 0) {
    return -1;
  }
  position_ = static_cast<std::uint64_t>(target);
  if (!sought_) {
    sought_ = position_;
  }
  return 0;
}

}  // namespace npyfs
