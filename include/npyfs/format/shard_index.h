// The index of a sharded checkpoint: which key lies in which file.
//
// An index.npz, as np.savez(path, **{key: shard}) writes it, holds the shard's path as a 0-d string
// per key: relative to the directory the writer ran in, or absolute, or with the backslashes of
// Windows. So a path is only a hint, and where it leads is tried in a fixed order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/format/npz.h"

namespace npyfs {

struct ShardEntry {
  std::string key;
  std::string path;          // as the writer left it
  std::uint32_t member = 0;  // of the index
};

// Longest path that is read from an index; Linux takes 4,096 bytes.
inline constexpr std::uint64_t kMostShardPath = 16384;

struct ShardIndex {
  std::vector<ShardEntry> entries;    // in the order of the archive
  std::vector<std::uint32_t> others;  // arrays in it that are no 0-d string
  std::vector<Npz::Remark> unreadable;
};

// What is in an archive that may be an index. Never throws for one string that can't be read.
ShardIndex read_shard_index(const Npz& npz);

// The text of one U or S element, up to the trailing NULs; U as UTF-8. `swapped`: big-endian U.
// Throws Error (EIO) on a code point that is none.
std::string element_text(Bytes element, DtypeKind kind, bool swapped);

// Where `entry` may lead, best first, as paths relative to the index's directory with '/' between
// components and no "." or "..": the path itself, then its 100 longest suffixes and the file name,
// then KEY.npy. `directory` is the index's own absolute path. An absolute path inside it
// comes first; a path never leads out of it.
std::vector<std::string> shard_candidates(const ShardEntry& entry, std::string_view directory);

}  // namespace npyfs
