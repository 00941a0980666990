// A directory that keeps restart points from one mount to the next.
//
// One file for each member, named by a hash of the member's key (Codec::restart_key), which stands
// in the file too: another source, another version of npyfs or of the codec's library has another
// key. Files are written under temporary names and renamed, so that any number of mounts may use
// one directory. They only ever make reading faster: whatever isn't exactly what was written is as
// good as not there, and so is a file that isn't ours alone, since a forged one would decode to
// whatever its author likes.
//
// Any thread. What goes wrong is reported, once of each kind, and thrown only by the constructor.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "npyfs/base/fd.h"
#include "npyfs/source/decoded.h"

namespace npyfs {

class KeptPoints;

class RestartStore {
 public:
  // All files of the directory together; those that were used the longest time ago go first. Some
  // 27 MB are what a member of 512 MiB or more takes.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  using OnProblem = std::function<void(const std::string& text)>;

  // Makes `directory` and those above it, for this user alone, where they don't exist; relative to
  // where the process is now. Throws Error if it can't be had. One that can't be written is still
  // read from. `report` must take calls from any thread, now and later.
  RestartStore(const std::string& directory, OnProblem report,
               std::uint64_t most_bytes = kMostBytes);

  // Empty if the directory can be written.
  const std::string& why_read_only() const { return why_read_only_; }

  // What is kept under `key` of a member of `size` bytes; empty if that is nothing.
  KeptPoints find(const std::string& key, std::uint64_t size) const;

  // Keeps `points` beside those that are there. How many were not.
  std::size_t save(const std::string& key, std::uint64_t size,
                   std::vector<std::shared_ptr<const RestartPoint>> points) const;

  // They led to bytes that can't be right.
  void forget(const std::string& key) const;

 private:
  enum class Problem { kForeign, kDamaged, kUnwritten, kCount };

  Fd open_file(const std::string& name) const;
  bool make_room(std::uint64_t bytes) const;
  void report(Problem problem, const std::string& text) const;

  const std::string path_;
  const Fd directory_;
  const std::uint64_t most_bytes_;
  const OnProblem on_problem_;
  std::string why_read_only_;
  mutable std::array<std::atomic_flag, static_cast<std::size_t>(Problem::kCount)> reported_{};
};

}  // namespace npyfs
