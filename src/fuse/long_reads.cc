#include "fuse/long_reads.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "npyfs/base/signals.h"

namespace npyfs {
namespace {

// How long a reader that was killed may have to wait while its read is still queued.
constexpr std::chrono::milliseconds kSweep(50);

}  // namespace

LongReads::LongReads(unsigned threads) {
  const SignalsBlocked blocked;
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
  threads_.emplace_back([this] { sweep(); });
}

LongReads::~LongReads() {
  stop_.request_stop();
  threads_.clear();
  for (const Job& job : jobs_) {
    job.give_up();
  }
}

void LongReads::add(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  changed_.notify_all();
}

void LongReads::work() {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop_.get_token(), [this] { return !jobs_.empty(); })) {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    if (job.cancelled()) {
      job.give_up();
    } else {
      job.run();
    }
    lock.lock();
  }
}

// Answers those that wait in vain, while all threads are at long work.
void LongReads::sweep() {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop_.get_token(), [this] { return !jobs_.empty(); })) {
    std::vector<Job> cancelled;
    std::erase_if(jobs_, [&](Job& job) {
      const bool off = job.cancelled();
      if (off) {
        cancelled.push_back(job);
      }
      return off;
    });
    lock.unlock();
    for (const Job& job : cancelled) {
      job.give_up();
    }
    std::this_thread::sleep_for(kSweep);
    lock.lock();
  }
}

}  // namespace npyfs
