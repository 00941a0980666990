// The end of a zip archive: where its last valid end record is, and so where the archive begins.
//
// libzip refuses an archive that stands behind other bytes, and of two archives one after another
// it lists the first. Given just the range found here, it lists the right one, unless the offsets
// of the second count from the start of the first: so np.savez writes twice into one open file.
// Then `only_end` is false, and libzip needs a directory of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "npyfs/source/source.h"

namespace npyfs {

struct ZipRange {
  std::uint64_t begin = 0;      // of the archive: every offset inside it counts from here
  std::uint64_t end = 0;        // just after the end record and its comment
  std::uint64_t directory = 0;  // in the source, where the central directory begins
  std::uint64_t directory_size = 0;
  bool count_fits = true;  // the directory is long enough for the number of records the end tells
  bool only_end = true;    // nothing else that libzip looks at begins as an end record does
};

// APPNOTE 4.3.16: the end record is the last 22 bytes and a comment of at most 65,535; bytes after
// it are tolerated if they are few or all zero. nullopt if there is no end record whose central
// directory lies before it.
std::optional<ZipRange> find_zip(const Source& source);

// For an archive without a usable end: what its local headers say, for the message that refuses it.
std::string describe_cut_zip(const Source& source);

}  // namespace npyfs
