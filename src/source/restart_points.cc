#include "source/restart_points.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace npyfs {
namespace {

std::uint64_t cost(const RestartPointPtr& point) { return sizeof *point + point->state.size(); }

}  // namespace

bool RestartPoints::wants(std::uint64_t member, std::uint64_t spacing,
                          std::uint64_t position) const {
  if (position == 0 || position % spacing != 0) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(member);
  return found == members_.end() ||
         (position % found->second.spacing == 0 && !found->second.points.contains(position));
}

void RestartPoints::add(std::uint64_t member, std::uint64_t spacing, RestartPointPtr point) {
  const std::uint64_t bytes = cost(point);
  const std::lock_guard lock(mutex_);
  Member& of = members_[member];
  if (of.points.empty()) {
    of.spacing = std::max(of.spacing, spacing);
  }
  of.last_use = ++uses_;
  if (of.points.emplace(point->position, point).second) {
    counts_.bytes += bytes;
    ++counts_.points;
  }
  while (counts_.bytes > budget_) {
    thin();
  }
}

RestartPointPtr RestartPoints::nearest(std::uint64_t member, std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(member);
  if (found == members_.end()) {
    return nullptr;
  }
  found->second.last_use = ++uses_;
  const auto& points = found->second.points;
  const auto after = points.upper_bound(position);
  return after == points.begin() ? nullptr : std::prev(after)->second;
}

std::vector<std::uint64_t> RestartPoints::positions(std::uint64_t member, std::uint64_t begin,
                                                    std::uint64_t end, std::size_t most) const {
  std::vector<std::uint64_t> positions;
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(member);
  if (found != members_.end()) {
    const auto& points = found->second.points;
    for (auto at = points.lower_bound(begin);
         at != points.end() && at->first < end && positions.size() < most; ++at) {
      positions.push_back(at->first);
    }
  }
  return positions;
}

std::vector<RestartPointPtr> RestartPoints::all(std::uint64_t member) const {
  std::vector<RestartPointPtr> points;
  const std::lock_guard lock(mutex_);
  const auto found = members_.find(member);
  if (found != members_.end()) {
    for (const auto& [position, point] : found->second.points) {
      points.push_back(point);
    }
  }
  return points;
}

RestartPoints::Counts RestartPoints::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// Precondition: there is a point.
void RestartPoints::thin() {
  // The most points; among members with as many, who was used least recently.
  const auto victim = std::ranges::max_element(members_, [](const auto& a, const auto& b) {
    const std::size_t points_a = a.second.points.size();
    const std::size_t points_b = b.second.points.size();
    return points_a != points_b ? points_a < points_b : a.second.last_use > b.second.last_use;
  });
  Member& member = victim->second;
  const bool last_one = member.points.size() == 1;
  member.spacing *= 2;
  std::erase_if(member.points, [&](const auto& entry) {
    const bool drop = last_one || entry.first % member.spacing != 0;
    if (drop) {
      counts_.bytes -= cost(entry.second);
      --counts_.points;
    }
    return drop;
  });
  if (member.points.empty()) {
    members_.erase(victim);
  }
}

}  // namespace npyfs
