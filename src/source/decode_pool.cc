#include "source/decode_pool.h"

#include <exception>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <signal.h>

#include "npyfs/source/cancel.h"

namespace npyfs {
namespace {

// Signals that end the mount go to the threads that answer the kernel; new threads inherit the
// mask.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

bool DecodePool::offer(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    return false;
  }
  if (threads_.empty()) {
    start();
  }
  if (waiting_.size() >= idle_) {
    return false;
  }
  waiting_.push_back(std::move(work));
  wake_.notify_one();
  return true;
}

void DecodePool::stop() {
  std::vector<std::thread> threads;
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(waiting_);
    wake_.notify_all();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void DecodePool::start() {
  const SignalsBlocked blocked;
  try {
    while (threads_.size() < most_threads_) {
      threads_.emplace_back([this] { run(); });
      ++idle_;
    }
  } catch (const std::system_error&) {
    // No more threads to be had: those there are must do, and with none readers decode alone.
  }
}

void DecodePool::run() {
  const CancelScope scope([this] { return stopping(); });
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) {
      return;
    }
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    --idle_;
    lock.unlock();
    try {
      work();
    } catch (const std::exception&) {
      // Whoever wants these bytes runs into it too, and has somebody to tell.
    }
    work = nullptr;  // it may hold the last reference to a member
    lock.lock();
    ++idle_;
  }
}

bool DecodePool::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace npyfs
