// How far a long copy has come, on one line of a terminal that is drawn over and over.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>

namespace npyfs {

class Progress {
 public:
  // `terminal`: null to show nothing. `total`: bytes to do.
  Progress(std::ostream* terminal, std::uint64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // The line is gone.
  ~Progress() { clear(); }

  void add(std::uint64_t bytes);

  // Makes room for a message; the line comes back with the next `add`.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(double seconds) const;

  std::ostream* terminal_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  bool drawn_ = false;
};

// `err` if that is standard error and a terminal, else null.
std::ostream* terminal_of(std::ostream& err);

}  // namespace npyfs
