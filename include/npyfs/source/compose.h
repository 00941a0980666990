// Sources made of memory and of other Sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "npyfs/source/source.h"

namespace npyfs {

// Bytes that the Source owns.
SourcePtr memory(std::vector<std::byte> bytes);
SourcePtr memory(const std::string& bytes);

// The range [offset, offset + length) of `whole`. Throws Error (EIO) if it isn't inside. A slice of
// a slice refers to the innermost Source; all of it is `whole` itself.
SourcePtr slice(const SourcePtr& whole, std::uint64_t offset, std::uint64_t length);

// The parts one after another; empty ones drop out, a concat of one part is that part. Finds a part
// in logarithmic time. Throws Error (EIO) if the total passes 2^63.
SourcePtr concat(std::vector<SourcePtr> parts);

}  // namespace npyfs
