// Reads that take long: more to decode than one block. libfuse has few threads, and they answer
// every lookup and every other reader, so such a read waits here and its libfuse thread goes back
// to work.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace npyfs {

class LongReads {
 public:
  struct Job {
    std::function<bool()> cancelled;  // the reader went away; asked from any thread
    std::function<void()> run;        // does the work and replies; gives up soon once cancelled
    std::function<void()> give_up;    // replies EINTR instead of run
  };

  // The threads start here and block SIGTERM, SIGINT and SIGHUP.
  explicit LongReads(unsigned threads);
  // Gives up everything that waits, and returns once what runs has ended. From now on every job's
  // `cancelled` must be true.
  ~LongReads();
  LongReads(const LongReads&) = delete;
  LongReads& operator=(const LongReads&) = delete;

  void add(Job job);

 private:
  void work();
  void sweep();

  std::stop_source stop_;
  std::mutex mutex_;  // guards jobs_
  std::condition_variable_any changed_;
  std::deque<Job> jobs_;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace npyfs
