// Axes of length 1 count for nothing, and neighbours that are neighbours in the store are one axis,
// so what is left are runs of bytes that lie together and the strides between them. Where runs lie
// near one another a stretch of the store is read at once and the runs are picked from it.
#include "npyfs/source/axis_order.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "npyfs/base/error.h"
#include "npyfs/source/cancel.h"

namespace npyfs {
namespace {

// Bytes of the store read at once.
constexpr std::uint64_t kStretch = std::uint64_t{1} << 20;
// Reading over so many bytes for each run costs less than a read of its own.
constexpr std::uint64_t kGap = 4096;

struct Axis {
  std::uint64_t length = 1;
  std::uint64_t stride = 0;  // bytes of the store from one index to the next
};

class AxisOrder final : public Source {
 public:
  // `axes`: those between runs of `run` bytes, the last fastest.
  AxisOrder(SourcePtr data, std::vector<Axis> axes, std::uint64_t run)
      : data_(std::move(data)), axes_(std::move(axes)), run_(run) {}

  std::uint64_t size() const override { return data_->size(); }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    std::unique_ptr<std::byte[]> buffer;
    while (!dst.empty()) {
      throw_if_cancelled();
      const std::uint64_t first = offset / run_;
      const std::uint64_t wanted = (offset + dst.size() - 1) / run_;
      const std::uint64_t last = stretch_end(axes_, first, wanted);
      std::size_t length = std::min<std::uint64_t>((last + 1) * run_ - offset, dst.size());
      if (buffer == nullptr && first != wanted) {
        buffer = std::make_unique_for_overwrite<std::byte[]>(kStretch);
      }
      if (first == last) {
        const std::size_t rows = copy_rows(offset, dst, buffer.get());
        if (rows == 0) {
          data_->read(place(axes_, first) + offset % run_, dst.first(length));
        }
        length = std::max(length, rows);
      } else {
        const auto [low, high] = stored_range(axes_, first, last);
        data_->read(low, {buffer.get(), high - low});
        pick(buffer.get(), low, offset, dst.first(length));
      }
      offset += length;
      dst = dst.subspan(length);
    }
  }

  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    if (length == 0) {
      return true;
    }
    const auto [low, high] = stored_range(axes_, offset / run_, (offset + length - 1) / run_);
    return data_->at_hand(low, high - low);
  }

 private:
  // Where a run lies in the store. Runs are counted over `axes`, here and below: all of them, or
  // all but the fastest.
  static std::uint64_t place(std::span<const Axis> axes, std::uint64_t run) {
    std::uint64_t place = 0;
    for (std::size_t i = axes.size(); i-- > 0;) {
      place += run % axes[i].length * axes[i].stride;
      run /= axes[i].length;
    }
    return place;
  }

  // The bytes of the store that hold these runs and all between: first, and one past the last.
  std::pair<std::uint64_t, std::uint64_t> stored_range(std::span<const Axis> axes,
                                                       std::uint64_t first,
                                                       std::uint64_t last) const {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const Axis& axis = axes[i];
      const bool whole = first / axis.length != last / axis.length;  // may take any index
      low += (whole ? 0 : first % axis.length) * axis.stride;
      high += (whole ? axis.length - 1 : last % axis.length) * axis.stride;
      first /= axis.length;
      last /= axis.length;
    }
    return {low, high + run_};
  }

  // The last run up to `last` that one read of the store is worth.
  std::uint64_t stretch_end(std::span<const Axis> axes, std::uint64_t first,
                            std::uint64_t last) const {
    while (last > first) {
      const auto [low, high] = stored_range(axes, first, last);
      const std::uint64_t runs = last - first + 1;
      if (high - low <= kStretch && (high - low) / runs <= run_ + kGap) {
        break;
      }
      last = first + (last - first) / 2;
    }
    return last;
  }

  // Where runs that are neighbours in the result are too far apart to be read together, those of
  // several rows may not be: reads row after row's first run at once, then the second ones, and so
  // on. Returns how many bytes of `dst` it filled: 0 unless it begins with two whole rows or more
  // that are worth it.
  std::size_t copy_rows(std::uint64_t offset, std::span<std::byte> dst, std::byte* buffer) const {
    const Axis& fastest = axes_.back();
    const auto slower = std::span(axes_).first(axes_.size() - 1);
    const std::uint64_t row = fastest.length * run_;
    const std::uint64_t first = offset / row;
    if (offset % row != 0 || dst.size() / row < 2) {
      return 0;
    }
    const std::uint64_t last = stretch_end(slower, first, first + dst.size() / row - 1);
    if (last == first) {
      return 0;
    }
    const auto [low, high] = stored_range(slower, first, last);
    std::vector<std::uint32_t> places(last - first + 1);
    for (std::uint64_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<std::uint32_t>(place(slower, first + i) - low);
    }
    for (std::uint64_t i = 0; i < fastest.length; ++i) {
      data_->read(low + i * fastest.stride, {buffer, high - low});
      std::byte* to = dst.data() + i * run_;
      for (const std::uint32_t from : places) {
        std::memcpy(to, buffer + from, run_);
        to += row;
      }
    }
    return places.size() * row;
  }

  // Copies what `dst` wants from `offset` on out of a stretch that begins at `low` of the store.
  void pick(const std::byte* stretch, std::uint64_t low, std::uint64_t offset,
            std::span<std::byte> dst) const {
    const Axis& fastest = axes_.back();
    std::uint64_t within = offset % run_;
    for (std::uint64_t run = offset / run_; !dst.empty();) {
      const std::byte* from = stretch + (place(axes_, run) - low);
      for (std::uint64_t i = run % fastest.length; i < fastest.length && !dst.empty(); ++i, ++run) {
        const std::size_t length = std::min<std::uint64_t>(run_ - within, dst.size());
        std::memcpy(dst.data(), from + within, length);
        dst = dst.subspan(length);
        from += fastest.stride;
        within = 0;
      }
    }
  }

  const SourcePtr data_;
  const std::vector<Axis> axes_;
  const std::uint64_t run_;  // bytes
};

}  // namespace

SourcePtr reorder_axes(SourcePtr data, const std::vector<std::uint64_t>& stored,
                       const std::vector<std::size_t>& axes, std::uint64_t itemsize) {
  assert(axes.size() == stored.size());
  std::vector<std::uint64_t> strides(stored.size());
  const bool empty = itemsize == 0 || std::ranges::find(stored, 0U) != stored.end();
  std::optional<std::uint64_t> bytes = empty ? 0 : itemsize;
  for (std::size_t i = stored.size(); i-- > 0;) {
    strides[i] = bytes.value_or(0);
    bytes = bytes ? checked_multiply(*bytes, stored[i]) : bytes;
  }
  if (bytes != data->size()) {
    throw_corrupt("the array's shape and item size don't make ", data->size(), " bytes");
  }
  std::vector<Axis> joined;
  for (const std::size_t axis : axes) {
    const Axis next = {stored[axis], strides[axis]};
    if (empty || next.length == 1) {
      continue;
    }
    if (!joined.empty() && joined.back().stride == next.length * next.stride) {
      joined.back() = {joined.back().length * next.length, next.stride};
    } else {
      joined.push_back(next);
    }
  }
  std::uint64_t run = itemsize;
  if (!joined.empty() && joined.back().stride == itemsize) {
    run *= joined.back().length;
    joined.pop_back();
  }
  if (joined.empty()) {
    return data;
  }
  return std::make_shared<AxisOrder>(std::move(data), std::move(joined), run);
}

}  // namespace npyfs
