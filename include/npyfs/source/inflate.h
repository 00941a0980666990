// Raw deflate (RFC 1951), by ISA-L.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "npyfs/base/bytes.h"
#include "npyfs/source/decoded.h"
#include "npyfs/source/source.h"

namespace npyfs {

// The stream that `compressed` holds from its first byte; bytes after the stream's end are ignored.
// Reads `compressed` in pieces of at most 256 KiB. A restart point takes about 54 KB. `origin`
// tells the stream from every other one, also tomorrow: the file's size and mtime, where in it the
// stream begins, its CRC; without it restart points aren't kept beyond the process.
std::unique_ptr<Codec> inflate_codec(SourcePtr compressed, std::string origin = {});

// Decodes up to out.size() bytes from the front of a stream, of which `compressed` is the first
// piece; returns how many came: fewer if the stream ended or the piece ran out. Throws Damage if
// the data breaks before. Cheap: needs no memory but a buffer that the thread keeps.
std::size_t inflate_prefix(Bytes compressed, std::span<std::byte> out);

}  // namespace npyfs
