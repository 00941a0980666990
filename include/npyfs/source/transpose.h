// The C-order bytes of an array whose axes are stored in another order, such as Fortran's.
//
// Neighbours of the one order are far apart in the other, so bytes are gathered in tiles: stretches
// of the C-order result, whose blocks go into the block cache. A tile is small at first touch and
// grows while its reader goes forward, up to a sixth of the cache and at most 48 MiB. Of a stored
// two-dimensional array a sequential read takes each byte once, as runs of one tile's rows,
// whatever the tile. Of a source that has to be decoded every tile costs a pass, so it is as large
// as can be at once: ceil(size / largest tile) passes in all, one for an array that fits. Where the
// first axes are in their place, what lies behind an index of them is a slice of its own, and a
// tile passes over the slices it has a part of: each is decoded once or twice if tiles are larger.
// A small read out of turn takes its own elements from the source and makes no tile, nor does any
// read of a stored array whose last axes are in place and make runs of 4 KiB.
//
// Tiles being made count against one limit for the process, so any number of readers needs no more
// than the largest tile and a block each beside the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "npyfs/source/block_cache.h"
#include "npyfs/source/source.h"

namespace npyfs {

// The same elements with the last axis fastest. `shape` is the array's, `itemsize` in bytes; axis i
// is axis `axes[i]` of the array whose bytes in C order are `data`. `object` is from
// cache->new_objects() and stays the array's own: whoever opens it again passes it again, and finds
// the blocks that are there. Where both orders agree the result is `data` itself. Precondition:
// `axes` has each axis once. Throws Error (EIO) if the source isn't exactly as long as shape and
// item size say.
SourcePtr c_order(SourcePtr data, const std::vector<std::uint64_t>& shape,
                  const std::vector<std::size_t>& axes, std::uint64_t itemsize,
                  std::shared_ptr<BlockCache> cache, std::uint64_t object);

// The same for Fortran order: the first axis is fastest in the source.
SourcePtr c_order(SourcePtr fortran_data, const std::vector<std::uint64_t>& shape,
                  std::uint64_t itemsize, std::shared_ptr<BlockCache> cache, std::uint64_t object);

}  // namespace npyfs
