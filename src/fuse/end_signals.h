// SIGTERM, SIGINT and SIGHUP as the end of a loop that waits for something else.
//
// A handler that raises a flag isn't enough: if the signal comes when the loop has just looked at
// the flag and is about to wait, it waits for good, and libfuse's loops are such. So a thread takes
// the signals, and then interrupts the loop's wait again and again until it is over.
#pragma once

#include <functional>

#include <signal.h>

namespace npyfs {

class EndSignals {
 public:
  // Holds the signals back in this thread, and in those that it starts, for good: the second of
  // them doesn't end the process either while it tidies up. Those that are ignored stay so.
  EndSignals();

  // Runs `loop` in the same thread. When one of the signals comes, or has come already, another
  // thread calls `end`; a loop that looks whether that happened each time a system call was
  // interrupted (EINTR) then returns. No other thread may let the signals in, nor use SIGURG.
  void run(const std::function<void()>& loop, const std::function<void()>& end) const;

 private:
  sigset_t signals_;
};

}  // namespace npyfs
