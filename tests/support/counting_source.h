// A Source that records how it is read, so that a test can say what must not be read, or how often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "npyfs/source/source.h"

namespace npyfs {

class CountingSource final : public Source {
 public:
  struct Read {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  explicit CountingSource(SourcePtr whole) : whole_(std::move(whole)) {}

  std::uint64_t size() const override { return whole_->size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    {
      const std::lock_guard lock(mutex_);
      reads_.push_back({offset, dst.size()});
    }
    whole_->read(offset, dst);
  }

  std::vector<Read> reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    reads_.clear();
  }

 private:
  SourcePtr whole_;
  mutable std::mutex mutex_;  // guards reads_
  mutable std::vector<Read> reads_;
};

}  // namespace npyfs
