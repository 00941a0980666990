// The C-order bytes of an array that is stored in Fortran order.
//
// Neighbours of the one order are far apart in the other, so bytes are gathered in tiles: stretches
// of the C-order result, whose blocks go into the block cache. A tile is small at first touch and
// grows while its reader goes forward, up to a sixth of the cache and at most 48 MiB. Of a stored
// two-dimensional array a sequential read takes each byte once, as runs of one tile's rows,
// whatever the tile. A source that has to be decoded gets the largest tile at once, since every
// tile costs a pass over it: ceil(size / largest tile) passes in all, one for an array that fits. A
// small read out of turn takes its own elements from the source and makes no tile.
//
// Tiles being made count against one limit for the process, so any number of readers needs no more
// than the largest tile and a block each beside the cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "npyfs/source/block_cache.h"
#include "npyfs/source/source.h"

namespace npyfs {

// The same elements with the last axis fastest. `shape` is the array's, `itemsize` in bytes;
// `object` is from cache->new_object() and stays the array's own: whoever opens it again passes it
// again, and finds the blocks that are there. Where both orders agree (no elements, or at most one
// axis longer than 1) the result is `fortran_data` itself. Throws Error (EIO) if the source isn't
// exactly as long as shape and item size say.
SourcePtr c_order(SourcePtr fortran_data, const std::vector<std::uint64_t>& shape,
                  std::uint64_t itemsize, std::shared_ptr<BlockCache> cache, std::uint64_t object);

}  // namespace npyfs
