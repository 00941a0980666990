// What the members of a mount share while they are decoded.
//
// Lock order: MemberTable, then DecodedMember, then one of the cache, its memory, the restart
// points, their keeper, the idle cursors, a member's soundness and the pool, none of which takes
// another lock. Nothing is decoded, read or reported under any of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "npyfs/source/block_cache.h"
#include "npyfs/source/decoded.h"

#include "source/decode_pool.h"
#include "source/idle_cursors.h"
#include "source/member_table.h"
#include "source/point_keeper.h"
#include "source/restart_points.h"

namespace npyfs {

struct DecodeShared {
  explicit DecodeShared(const Decoder::Options& options);

  const unsigned threads;
  BlockCache cache;
  RestartPoints restart_points;
  PointKeeper keeper;
  IdleCursors idle_cursors;
  Decoder::OnFault on_fault;
  std::atomic<std::uint64_t> last_archive{0};
  std::atomic<std::uint64_t> decoded_bytes{0};
  std::atomic<std::uint64_t> decoded_blocks{0};
  std::atomic<std::uint64_t> decoded_ahead{0};
  std::atomic<std::uint64_t> waits{0};
  std::atomic<std::uint64_t> restarts{0};
  MemberTable members;
  DecodePool pool;  // last: its threads use the rest
};

}  // namespace npyfs
