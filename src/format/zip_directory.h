// Central directories of ours.
//
// One is for archives whose own libzip refuses. One record that libzip doesn't like costs it the
// whole archive: a name that isn't the UTF-8 it claims to be, a zip64 field with a byte too many, a
// count that has wrapped. And where the end of another archive stands near its own, it may list
// that one. So it gets the same records in the same order, less what it refuses; what is wrong with
// a member then shows in that member alone.
#pragma once

#include <cstdint>

#include "npyfs/format/zip.h"
#include "npyfs/source/source.h"

#include "format/zip_end.h"

namespace npyfs {

// Longest directory that is written anew: it is held in memory while the archive is listed.
inline constexpr std::uint64_t kMostOwnDirectory = std::uint64_t{256} << 20;

// The archive at `range` of `source`, which has just its own directory replaced. Null if the bytes
// of the directory aren't records one after another, or too many.
SourcePtr with_own_directory(const SourcePtr& source, const ZipRange& range);

// An archive that has just this member; `stored` is its bytes as they lie in an archive.
SourcePtr archive_of_one(SourcePtr stored, const ZipMember& member);

}  // namespace npyfs
