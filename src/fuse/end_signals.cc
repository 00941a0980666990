#include "fuse/end_signals.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "npyfs/base/signals.h"

namespace npyfs {
namespace {

// How soon the loop is interrupted once more.
constexpr std::chrono::milliseconds kAgain(10);

// A signal by which nothing happens, unless it has a handler.
constexpr int kInterrupt = SIGURG;

void interrupt(int) {}

// Waits for a signal while it lives, and then bothers the thread that made it.
class Watcher {
 public:
  Watcher(const sigset_t& signals, const std::function<void()>& end)
      : signals_(signals), end_(end) {
    sigaddset(&signals_, kInterrupt);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before);  // the thread's, from its first moment on
    thread_ = std::thread([this] { watch(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    ::pthread_kill(thread_.native_handle(), kInterrupt);
    thread_.join();
  }

 private:
  void watch() {
    int signal = kInterrupt;
    while (signal == kInterrupt) {
      ::sigwait(&signals_, &signal);
      const std::lock_guard lock(mutex_);
      if (over_) {
        return;
      }
    }
    end_();
    std::unique_lock lock(mutex_);
    while (!over_) {
      ::pthread_kill(owner_, kInterrupt);
      changed_.wait_for(lock, kAgain);
    }
  }

  sigset_t signals_;
  const std::function<void()>& end_;
  const pthread_t owner_ = ::pthread_self();
  std::mutex mutex_;  // guards over_
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace

EndSignals::EndSignals() {
  sigemptyset(&signals_);
  for (const int signal : kEndSignals) {
    if (!is_ignored(signal)) {  // a blocked one would be waited for all the same
      sigaddset(&signals_, signal);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

void EndSignals::run(const std::function<void()>& loop, const std::function<void()>& end) const {
  struct sigaction action = {};
  action.sa_handler = interrupt;
  ::sigaction(kInterrupt, &action, nullptr);
  const Watcher watcher(signals_, end);
  loop();
}

}  // namespace npyfs
