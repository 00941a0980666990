#include "source/decode_pool.h"

#include <exception>
#include <system_error>
#include <utility>

#include "npyfs/base/signals.h"
#include "npyfs/source/cancel.h"

namespace npyfs {

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

bool DecodePool::has_idle() const {
  const std::lock_guard lock(mutex_);
  return !stopping_ && (threads_.empty() ? most_threads_ > 0 : waiting_.size() < idle_);
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
