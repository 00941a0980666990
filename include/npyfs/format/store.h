// Where the bytes of arrays and files lie: one Store per container, its items numbered from 0.
//
// A Store is const once made and may be used from any thread. It answers from compact tables, since
// a checkpoint may have a million items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "npyfs/source/source.h"

namespace npyfs {

// Where an item came from, for the manifest. Absent fields have no meaning for this item.
struct Origin {
  std::string file;    // path relative to the source of the mount
  std::string format;  // "npz", "npy", "raw"
  std::string member;  // name inside the container, as it stands there
  std::optional<std::uint64_t>
      offset;               // of NAME.npy's first byte in the file, if it lies there as is
  std::string compression;  // "stored", "deflate" …
  std::uint64_t stored_bytes = 0;
  std::optional<std::uint32_t> crc32;
};

// As shown to a person: the file, or "file: member".
inline std::string place_of(const Origin& origin) {
  return origin.member.empty() ? origin.file : origin.file + ": " + origin.member;
}

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // The key of the array that item `index` is, within this container: for an npz the member name
  // less one ".npy". UTF-8 wherever the container allows no other bytes.
  virtual std::string key(std::uint32_t index) const = 0;

  // Bytes that `open` would give.
  virtual std::uint64_t size(std::uint32_t index) const = 0;

  // The item's bytes. Throws Error: EACCES for an encrypted member, EOPNOTSUPP for a method we
  // lack, EIO for damage known beforehand.
  virtual SourcePtr open(std::uint32_t index) const = 0;

  // Throws Error (ESTALE) if the file that holds the item isn't what it was when the mount began.
  virtual void check(std::uint32_t index) const = 0;

  virtual Origin origin(std::uint32_t index) const = 0;

  // The number by which the Decoder knows the member that the item's bytes lie in, if they lie in
  // one of an archive: damage of that member is damage of the item.
  virtual std::optional<std::uint64_t> member_id(std::uint32_t) const { return std::nullopt; }

  // Of the file that holds the item, in nanoseconds since 1970.
  virtual std::int64_t mtime_ns(std::uint32_t index) const = 0;
};

}  // namespace npyfs
