// The signals that end a mount, which belong to the threads that answer the kernel.
#pragma once

#include <signal.h>

namespace npyfs {

// Blocks SIGTERM, SIGINT and SIGHUP in this thread as long as it lives. Threads that are started
// meanwhile inherit that for good.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace npyfs
