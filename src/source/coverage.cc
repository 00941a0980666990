#include "source/coverage.h"

#include <iterator>

#include <zlib.h>

namespace npyfs {
namespace {

std::uint32_t combine(std::uint32_t front, std::uint32_t back, std::uint64_t back_length) {
  return static_cast<std::uint32_t>(crc32_combine(front, back, static_cast<z_off_t>(back_length)));
}

}  // namespace

bool Coverage::covers(std::uint64_t offset) const {
  const auto after = runs_.upper_bound(offset);
  return after != runs_.begin() && std::prev(after)->second.end > offset;
}

void Coverage::add(std::uint64_t begin, std::uint64_t end, std::uint32_t crc) {
  auto after = runs_.lower_bound(begin);
  if (after != runs_.end() && after->first == end) {
    crc = combine(crc, after->second.crc, after->second.end - end);
    end = after->second.end;
    after = runs_.erase(after);
  }
  if (after != runs_.begin() && std::prev(after)->second.end == begin) {
    Run& before = std::prev(after)->second;
    before.crc = combine(before.crc, crc, end - begin);
    before.end = end;
  } else {
    runs_.emplace_hint(after, begin, Run{end, crc});
  }
}

std::optional<std::uint32_t> Coverage::whole(std::uint64_t size) const {
  if (size == 0) {
    return 0;
  }
  const bool all =
      runs_.size() == 1 && runs_.begin()->first == 0 && runs_.begin()->second.end == size;
  return all ? std::optional(runs_.begin()->second.crc) : std::nullopt;
}

}  // namespace npyfs
