// One member being decoded: who is at which block, and who waits for it.
//
// Whoever needs a block that isn't cached looks for the nearest place to start from, at or before
// it: an idle cursor, a restart point, the front, or a run of another thread that is under way. In
// the last case it waits, otherwise it runs itself. A run publishes block after block and never
// waits, so there is no cycle; when it ends, for whatever reason, it leaves its cursor behind and
// wakes those it didn't serve, who look again.
//
// Restart points are in memory or, from an earlier mount, kept in a store; the latter are looked up
// when something is first decoded, and read one by one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "npyfs/source/block_cache.h"
#include "npyfs/source/decoded.h"

#include "source/forward_readers.h"
#include "source/point_keeper.h"
#include "source/restart_points.h"
#include "source/soundness.h"

namespace npyfs {

class DecodedMember : public std::enable_shared_from_this<DecodedMember> {
 public:
  // `shared` must outlive it.
  DecodedMember(DecodeShared& shared, std::uint64_t id, std::uint64_t size,
                std::optional<std::uint32_t> crc32);

  std::uint64_t id() const { return id_; }
  std::uint64_t size() const { return size_; }

  bool has_codec() const;
  void set_codec(std::unique_ptr<Codec> codec);

  // Nobody has it open: lets go of the codec. False if there is nothing to remember of it.
  bool close();

  // The block, of which the caller uses [begin, end). Throws Error: Damage if the stream is not
  // sound up to there, EINTR if cancelled, or what the codec threw.
  BlockPtr block(std::uint64_t index, std::size_t begin, std::size_t end);

  // Whether the blocks [first, last] are there, but for one that takes no more than decoding it.
  bool at_hand(std::uint64_t first, std::uint64_t last) const;

  // Somebody read the blocks [first, last]: decodes ahead if they go forward and a thread is idle.
  void follow(std::uint64_t first, std::uint64_t last);

  // Somebody at `index` will need everything up to `last`: lets idle threads begin at the restart
  // points on the way. To be called again as the reader gets on.
  void share_out(std::uint64_t index, std::uint64_t last);

  // Somebody is done with it: stores the restart points that aren't, if there is a store. On an
  // idle thread, or on this one.
  void store_points_at_last();

 private:
  static constexpr std::uint64_t kNone = UINT64_MAX;

  // Somebody waits for one block. `block` is null if the run ended before.
  struct Slot {
    std::condition_variable changed;
    bool done = false;
    BlockPtr block;
  };

  // One thread decoding forward, or about to; in `runs_` from its RunScope's begin to its end.
  struct Run {
    std::uint64_t next = 0;  // block being decoded
    std::uint64_t last = 0;
    bool is_ahead = false;
    std::map<std::uint64_t, std::shared_ptr<Slot>> slots = {};
  };
  class RunScope;
  struct Ahead;

  // Where a run starts: at the cursor, else at the kept point, else at the point in memory; with
  // none of these at the front.
  struct Start {
    std::shared_ptr<const Codec> codec;
    std::unique_ptr<Cursor> cursor;
    KeptMemberPtr kept;  // null if it has nothing nearer than `point`
    std::uint64_t kept_position = 0;
    RestartPointPtr point;

    std::uint64_t point_position() const;
    std::uint64_t block() const;
  };

  // The part [begin, end) of a block.
  struct Wanted {
    std::uint64_t index = kNone;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  BlockKey key(std::uint64_t index) const;
  std::uint64_t last_block() const;
  std::uint64_t end_of(std::uint64_t index) const;
  bool cached(std::uint64_t index) const;
  bool is_under_way(std::uint64_t index) const;
  void note_fault(std::uint64_t from, const Damage& damage);

  BlockPtr find_or_decode(const Wanted& wanted);
  Run* nearest_run(std::uint64_t index) const;
  BlockPtr wait_for(std::unique_lock<std::mutex> lock, Run& run, std::uint64_t index);
  KeptMemberPtr kept();
  void distrust(const KeptMemberPtr& kept);
  Start nearest_point(const KeptMemberPtr& kept, std::uint64_t position) const;
  std::vector<std::uint64_t> point_positions(std::uint64_t begin, std::uint64_t end,
                                             std::size_t most);
  std::unique_ptr<Cursor> cursor_for(Run& run, Start start);
  std::unique_ptr<Cursor> resume(Start& start);
  BlockPtr carry_out(std::unique_ptr<RunScope> scope, Start start, const Wanted& wanted);
  BlockPtr decode(Cursor& cursor, std::uint64_t index);
  bool publish(Run& run, const BlockPtr& block, const Wanted& wanted);
  void leave_restart_point(Cursor& cursor);
  void store_points();
  bool store_points_soon();

  bool offer(std::uint64_t first, std::uint64_t last);
  std::shared_ptr<Ahead> begin_ahead(std::uint64_t first, std::uint64_t last);

  DecodeShared& shared_;
  const std::uint64_t id_;
  const std::uint64_t size_;
  const std::uint64_t spacing_;    // of restart points, in bytes
  const bool whole_;               // small: decoded in one go
  const bool shares_out_;          // what idle threads decode meanwhile fits in the cache
  const std::uint64_t most_kept_;  // blocks before the one wanted
  Soundness soundness_;
  std::atomic<std::uint64_t> given_out_{0};  // nobody got bytes behind it

  mutable std::mutex mutex_;  // guards everything below, and the runs in runs_
  std::shared_ptr<const Codec> codec_;
  KeptMemberPtr kept_;  // once it was asked for, while there is a codec
  std::vector<Run*> runs_;
  ForwardReaders readers_;
};

}  // namespace npyfs
