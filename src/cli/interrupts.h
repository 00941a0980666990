// SIGINT, SIGTERM and SIGHUP as something to ask for, so that work can be tidied up before the
// program ends by them.
#pragma once

#include <array>

#include <signal.h>

namespace npyfs {

// One at a time. The second signal of a kind ends the program as ever.
class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  // What was there before is back.
  ~Interrupts();

  // The signal that came, or 0.
  static int caught();

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace npyfs
