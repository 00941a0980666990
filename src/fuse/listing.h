// An open directory. What its reader will ask for next is made while it still digests the last
// page: 750 entries take the daemon half a millisecond, the kernel and 'ls -l' three.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fuse/fuse_api.h"

namespace npyfs {

// Thread-safe; the requests of one open directory follow one another.
class Listing {
 public:
  struct Entry {
    std::string name;
    fuse_entry_param param = {};
    std::uint64_t next = 0;  // where a listing goes on after this entry
  };
  // False if there is no room for it: the entry is then the first of the next page.
  using Take = std::function<bool(const Entry&)>;
  // Calls take(entry) for the entries from `offset` on until it returns false.
  using Make = std::function<void(std::uint64_t offset, const Take& take)>;

  explicit Listing(Make make) : make_(std::move(make)) {}

  // Answers one request: offers the entries from `offset` on to `take`, calls `reply`, and readies
  // as many entries once more if there was no room for all. Throws what they throw, but nothing
  // after the reply.
  void page(std::uint64_t offset, const Take& take, const std::function<void()>& reply);

 private:
  void make_ready(std::uint64_t offset, std::size_t count) noexcept;

  const Make make_;
  std::mutex mutex_;  // held through a request and the making ahead: who asks on waits for that
  std::vector<Entry> ready_;
  std::uint64_t ready_from_ = 0;  // the offset of ready_[0]
};

}  // namespace npyfs
