// Whether ISA-L may be let loose on a state that comes from outside: its indices, lengths and
// tables say where it reads and writes, and it looks at none of them twice.
//
// A state that passes can't make isal_inflate leave its buffers. It can still decode to the wrong
// bytes: that it is the one that was saved is what checksums are for.
#pragma once

#include <cstdint>

#include <isa-l/igzip_lib.h>

namespace npyfs {

// `state` as InflateCursor saves it, at `position` of the output: between two calls, its output
// buffer moved to the front. What the caller sets itself isn't looked at:
// next_in, avail_in, next_out, avail_out, total_out, dict_length, crc_flag.
bool is_safe_state(const inflate_state& state, std::uint64_t position);

}  // namespace npyfs
