// Members whose method npyfs doesn't decode itself, streamed through libzip.
#pragma once

#include <cstdint>
#include <memory>

#include "npyfs/source/decoded.h"
#include "npyfs/source/source.h"

namespace npyfs {

// Decodes member `index` of `archive`, forward only. Every cursor has a zip_t of its own: one zip_t
// used by two threads returns wrong bytes without an error.
std::unique_ptr<Codec> zip_stream_codec(SourcePtr archive, std::uint64_t index);

}  // namespace npyfs
