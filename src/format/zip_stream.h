// Members whose method npyfs doesn't decode itself, streamed through libzip.
#pragma once

#include <memory>

#include "npyfs/format/zip.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/source.h"

namespace npyfs {

// Decodes `stored`, the bytes of `member` as they lie in its archive, forward only. Every cursor
// has a zip_t of its own: one zip_t used by two threads returns wrong bytes without an error.
std::unique_ptr<Codec> zip_stream_codec(SourcePtr stored, const ZipMember& member);

}  // namespace npyfs
