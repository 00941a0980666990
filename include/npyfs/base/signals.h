// The signals that end a program politely. Those of a mount belong to the threads that answer the
// kernel.
#pragma once

#include <array>

#include <signal.h>

namespace npyfs {

inline constexpr std::array kEndSignals = {SIGINT, SIGTERM, SIGHUP};

// Whoever started us ignores it, as nohup does, and it should stay so.
inline bool is_ignored(int signal) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

// Blocks kEndSignals in this thread as long as it lives. Threads that are started
// meanwhile inherit that for good.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : kEndSignals) {
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
