// The restart points of all members, in one budget for the mount.
//
// A member's points lie on a grid of its own. When the budget is full the member that has the most
// keeps every second one, and its grid stays that wide: the points of a later pass don't push each
// other out again. Any thread; no other lock is taken under its mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "npyfs/source/decoded.h"

namespace npyfs {

using RestartPointPtr = std::shared_ptr<const RestartPoint>;

class RestartPoints {
 public:
  struct Counts {
    std::uint64_t points = 0;
    std::uint64_t bytes = 0;
  };

  explicit RestartPoints(std::uint64_t budget) : budget_(budget) {}

  // Whether a point at `position` would be kept; `spacing` is the member's grid before any
  // thinning.
  bool wants(std::uint64_t member, std::uint64_t spacing, std::uint64_t position) const;

  void add(std::uint64_t member, std::uint64_t spacing, RestartPointPtr point);

  // The last point at or before `position`, or null.
  RestartPointPtr nearest(std::uint64_t member, std::uint64_t position);

  // The positions of points in [begin, end), in order; at most `most`.
  std::vector<std::uint64_t> positions(std::uint64_t member, std::uint64_t begin, std::uint64_t end,
                                       std::size_t most) const;

  // All of the member, in order.
  std::vector<RestartPointPtr> all(std::uint64_t member) const;

  Counts counts() const;

 private:
  struct Member {
    std::uint64_t spacing = 0;
    std::uint64_t last_use = 0;
    std::map<std::uint64_t, RestartPointPtr> points;
  };

  void thin();

  const std::uint64_t budget_;
  mutable std::mutex mutex_;  // guards everything below
  std::unordered_map<std::uint64_t, Member> members_;
  std::uint64_t uses_ = 0;
  Counts counts_;
};

}  // namespace npyfs
