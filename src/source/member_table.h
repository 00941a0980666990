// Which members are known: those that are open, and of the others those that something was learnt
// of which neither the cache nor the restart points hold (a fault, part of a CRC), as many as
// kMostClosed. A million members may come and go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace npyfs {

class DecodedMember;

class MemberTable {
 public:
  static constexpr std::size_t kMostClosed = 4096;

  // The member, counted as open once more; `make` makes it if it isn't known.
  std::shared_ptr<DecodedMember> open(std::uint64_t id,
                                      const std::function<std::shared_ptr<DecodedMember>()>& make);

  // One open less.
  void close(std::uint64_t id);

  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<DecodedMember> member;
    std::size_t opens = 0;
    std::list<std::uint64_t>::iterator closed;  // valid while opens is 0
  };

  mutable std::mutex mutex_;  // guards everything below
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::list<std::uint64_t> closed_;  // the longest closed first
};

}  // namespace npyfs
