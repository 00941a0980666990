#include "format/pickle_input.h"

#include <algorithm>
#include <cassert>

#include "npyfs/format/pickle.h"

#include "format/pickle_faults.h"

namespace npyfs {
namespace {

constexpr std::size_t kFirstRead = std::size_t{8} << 10;
constexpr std::size_t kLongestRead = std::size_t{64} << 10;

}  // namespace

Bytes PickleInput::ready(std::size_t count) {
  const std::size_t have = buffer_.size() - used_;
  const std::uint64_t behind = end_ - at_ - have;  // of the stream, not in the buffer
  if (have < count && behind > 0) {
    next_read_ = std::clamp(next_read_ * 2, kFirstRead, kLongestRead);
    const std::size_t more = std::min<std::uint64_t>(behind, next_read_);
    if (more > Pickle::kMostRead - total_read_) {
      throw_beyond_limit("more than ", Pickle::kMostRead, " bytes apart from long strings");
    }
    total_read_ += more;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ = 0;
    buffer_.resize(have + more);
    source_.read(at_ + have, std::span(buffer_).subspan(have));
  }
  return Bytes(buffer_).subspan(used_);
}

Bytes PickleInput::take(std::size_t count) {
  assert(count <= kLongestTake);
  const Bytes bytes = ready(count);
  if (bytes.size() < count) {
    throw_broken_pickle("the pickle ends ", count - bytes.size(), " bytes too early");
  }
  used_ += count;
  at_ += count;
  return bytes.first(count);
}

std::uint64_t PickleInput::little_endian(std::size_t width) {
  std::uint64_t value = 0;
  const Bytes bytes = take(width);
  for (std::size_t i = width; i-- > 0;) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

std::string_view PickleInput::line() {
  const auto text = short_line();
  if (!text) {
    throw_broken_pickle("no end of line within ", std::min(ready(0).size(), kLongestTake),
                        " bytes");
  }
  return *text;
}

std::optional<std::string_view> PickleInput::short_line() {
  const std::string_view text = text_view(ready(kLongestTake)).substr(0, kLongestTake);
  const std::size_t length = text.find('\n');
  if (length == std::string_view::npos) {
    return std::nullopt;
  }
  used_ += length + 1;
  at_ += length + 1;
  return text.substr(0, length);
}

void PickleInput::pass(std::uint64_t count) {
  if (count > end_ - at_) {
    throw_broken_pickle(count, " bytes run past the ", end_ - at_, " that are left");
  }
  at_ += count;
  if (count <= buffer_.size() - used_) {
    used_ += count;
    return;
  }
  buffer_.clear();
  used_ = 0;
  next_read_ = 0;
}

std::uint64_t PickleInput::pass_line() {
  std::uint64_t length = 0;
  while (true) {
    const std::string_view text = text_view(ready(1));
    if (text.empty()) {
      throw_broken_pickle("the pickle ends within a line");
    }
    const std::size_t end = text.find('\n');
    const std::size_t part = std::min(end, text.size());
    length += part;
    used_ += part;
    at_ += part;
    if (end != std::string_view::npos) {
      take(1);
      return length;
    }
  }
}

}  // namespace npyfs
