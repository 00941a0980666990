// Reads that take long: more to decode than one block. libfuse has few threads, and they answer
// every lookup and every other reader, so such a read waits here and its libfuse thread goes back
// to work.
//
// Of one file only a few are under way at once, as many as there are cores: more would be in each
// other's way. But no file waits for another: a way of minutes to the end of one mustn't be in
// front of a moment's work for the next, so threads are added for as long as files need them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

namespace npyfs {

class LongReads {
 public:
  struct Job {
    std::uint64_t file;               // whose turn it takes
    std::function<bool()> cancelled;  // the reader went away; asked from any thread
    std::function<void()> run;        // does the work and replies; gives up soon once cancelled
    std::function<void()> give_up;    // replies EINTR instead of run
  };

  // Of all files together so many are under way; each takes 1 to 2 MB.
  static constexpr std::size_t kMostAtOnce = 32;

  // At most `of_a_file` reads of one file are under way. As many threads start here, the others
  // when they are wanted; all block SIGTERM, SIGINT and SIGHUP. Throws std::system_error or
  // std::bad_alloc if they can't be had.
  explicit LongReads(unsigned of_a_file);
  // Gives up everything that waits, and returns once what runs has ended. From now on every job's
  // `cancelled` must be true.
  ~LongReads();
  LongReads(const LongReads&) = delete;
  LongReads& operator=(const LongReads&) = delete;

  // Throws std::bad_alloc; then it is as if it had not been called.
  void add(Job job);

 private:
  void start_thread();
  void work();
  void sweep();
  void ended(std::uint64_t file);

  const unsigned of_a_file_;
  std::stop_source stop_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable_any changed_;
  std::list<Job> ready_;                               // wait for a thread
  std::list<Job> held_;                                // wait for an earlier one of their file
  std::unordered_map<std::uint64_t, unsigned> turns_;  // of a file: ready or under way
  std::size_t idle_ = 0;                               // threads without a job
  std::vector<std::jthread> threads_;                  // last: joined before the rest goes
  std::jthread sweeper_;
};

}  // namespace npyfs
