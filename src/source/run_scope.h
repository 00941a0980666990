// The time that a run of a member is under way.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "source/decode_shared.h"
#include "source/decoded_member.h"

namespace npyfs {

// Begins a run, and ends it on every way out.
class DecodedMember::RunScope {
 public:
  // With the member's mutex held; from then on other threads wait for the run.
  RunScope(DecodedMember& member, Run& run) : member_(member), run_(run) {
    member_.runs_.push_back(&run_);
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() {
    const std::lock_guard lock(member_.mutex_);
    if (cursor != nullptr && between_blocks && cursor->position() < member_.size_) {
      member_.shared_.idle_cursors.park(member_.id_, std::move(cursor));
    }
    std::erase(member_.runs_, &run_);
    for (const auto& [index, slot] : run_.slots) {
      slot->done = true;
      slot->changed.notify_all();
    }
  }

  Run& run() { return run_; }

  std::unique_ptr<Cursor> cursor;
  bool between_blocks = true;  // the cursor is where a block begins, and sound

 private:
  DecodedMember& member_;
  Run& run_;
};

}  // namespace npyfs
