// SIGINT, SIGTERM and SIGHUP as something to ask for, so that work can be tidied up before the
// program ends by them.
#pragma once

#include <array>

#include <signal.h>

#include "npyfs/base/signals.h"

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
  std::array<struct sigaction, kEndSignals.size()> before_{};  // of each
};

}  // namespace npyfs
