// The C-order bytes of an array whose axes are stored in another order.
#pragma once

#include <cstdint>
#include <vector>

#include "npyfs/source/source.h"

namespace npyfs {

// `data` is an array of `stored` shape in C order; axis i of the result is its axis `axes[i]`, as
// numpy.transpose(array, axes) has it. Bytes are gathered from `data` on each read. Where the order
// makes no difference the result is `data` itself. Precondition: `axes` has each axis once. Throws
// Error (EIO) if `data` isn't exactly as long as shape and item size say.
SourcePtr reorder_axes(SourcePtr data, const std::vector<std::uint64_t>& stored,
                       const std::vector<std::size_t>& axes, std::uint64_t itemsize);

}  // namespace npyfs
