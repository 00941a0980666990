// What is known of a member's health: how far its stream is sound, what broke, and whether its
// CRC-32 is right once every block was decoded. Any thread; no other lock is taken under its mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/source/decoded.h"

#include "source/coverage.h"

namespace npyfs {

class Soundness {
 public:
  Soundness(std::uint64_t size, std::optional<std::uint32_t> crc32) : size_(size), crc32_(crc32) {}

  // Throws the Damage that lies before `end`, if there is one.
  void throw_if_unsound(std::uint64_t end) const;

  bool is_broken_at(std::uint64_t offset) const { return offset >= sound_until_; }

  // The stream is only sound up to `from`. True if that was not known.
  bool note(std::uint64_t from, const Damage& damage);

  // Takes the decoded block at `begin` into account. What is wrong if it was the last one missing
  // and the CRC of all isn't what the archive says; to be noted from the last block on.
  std::optional<Damage> check(std::uint64_t begin, Bytes block);

  // Whether something is known that decoding a block or two wouldn't tell again.
  bool is_worth_keeping(bool is_small) const;

 private:
  struct Fault {
    std::uint64_t from;
    Damage damage;
  };

  bool lacks(std::uint64_t begin) const;

  const std::uint64_t size_;
  const std::optional<std::uint32_t> crc32_;
  std::atomic<std::uint64_t> sound_until_{UINT64_MAX};  // written under mutex_

  mutable std::mutex mutex_;  // guards everything below
  std::vector<Fault> faults_;
  Coverage coverage_;
};

}  // namespace npyfs
