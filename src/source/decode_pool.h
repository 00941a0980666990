// Threads that decode what somebody will probably want. Work is only taken while a thread is idle:
// there is no backlog, whoever is refused does without.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace npyfs {

class DecodePool {
 public:
  // The threads start with the first offer.
  explicit DecodePool(unsigned threads) : most_threads_(threads) {}
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;
  ~DecodePool() { stop(); }

  // Whether offer would take something now.
  bool has_idle() const;

  // Takes `work` if a thread is idle. Its exceptions end with it; it sees itself as cancelled
  // (cancel.h) once the pool stops.
  bool offer(std::function<void()> work);

  // Drops what has not begun, waits for the rest; offers are refused from then on.
  void stop();

 private:
  void start();
  void run();
  bool stopping() const;

  const unsigned most_threads_;
  mutable std::mutex mutex_;  // guards everything below; no other lock is taken under it
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace npyfs
