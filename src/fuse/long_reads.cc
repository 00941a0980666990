#include "fuse/long_reads.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "npyfs/base/signals.h"

namespace npyfs {
namespace {

// How long a reader that was killed may have to wait while its read is still queued.
constexpr std::chrono::milliseconds kSweep(50);

}  // namespace

LongReads::LongReads(unsigned of_a_file) : of_a_file_(of_a_file) {
  const SignalsBlocked blocked;
  try {
    const std::lock_guard lock(mutex_);
    threads_.reserve(kMostAtOnce);
    while (threads_.size() < of_a_file_) {
      start_thread();
    }
    sweeper_ = std::jthread([this] { sweep(); });
  } catch (...) {
    stop_.request_stop();  // or the threads there are would be waited for without end
    throw;
  }
}

LongReads::~LongReads() {
  stop_.request_stop();
  threads_.clear();
  sweeper_ = {};
  for (const auto* const jobs : {&ready_, &held_}) {
    for (const Job& job : *jobs) {
      job.give_up();
    }
  }
}

void LongReads::add(Job job) {
  std::list<Job> added;
  added.push_back(std::move(job));
  const std::lock_guard lock(mutex_);
  unsigned& turns = turns_[added.front().file];
  if (turns == of_a_file_) {
    held_.splice(held_.end(), added);
  } else {
    ready_.splice(ready_.end(), added);
    ++turns;
    if (ready_.size() > idle_ && threads_.size() < kMostAtOnce) {
      const SignalsBlocked blocked;
      try {
        start_thread();
      } catch (const std::exception&) {
        // No more threads to be had: it waits for one of those there are.
      }
    }
  }
  changed_.notify_all();
}

// With mutex_ held.
void LongReads::start_thread() {
  threads_.emplace_back([this] { work(); });
  ++idle_;
}

void LongReads::work() {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop_.get_token(), [this] { return !ready_.empty(); })) {
    --idle_;
    std::list<Job> taken;
    taken.splice(taken.end(), ready_, ready_.begin());
    const Job& job = taken.front();
    lock.unlock();
    if (job.cancelled()) {
      job.give_up();
    } else {
      job.run();
    }
    lock.lock();
    ended(job.file);
    ++idle_;
  }
}

// A turn of `file` is over: the next that waits for it has it. With mutex_ held.
void LongReads::ended(std::uint64_t file) {
  const auto next = std::ranges::find(held_, file, &Job::file);
  if (next != held_.end()) {
    ready_.splice(ready_.end(), held_, next);
    changed_.notify_all();
  } else if (const auto turns = turns_.find(file); --turns->second == 0) {
    turns_.erase(turns);
  }
}

// Answers those that wait in vain, while all threads are at long work.
void LongReads::sweep() {
  std::unique_lock lock(mutex_);
  const auto has_jobs = [this] { return !ready_.empty() || !held_.empty(); };
  while (changed_.wait(lock, stop_.get_token(), has_jobs)) {
    std::list<Job> cancelled;
    const auto take_cancelled = [&cancelled](std::list<Job>& jobs) {
      for (auto at = jobs.begin(); at != jobs.end();) {
        const auto job = at++;
        if (job->cancelled()) {
          cancelled.splice(cancelled.end(), jobs, job);
        }
      }
    };
    take_cancelled(held_);
    const std::size_t held = cancelled.size();
    take_cancelled(ready_);
    for (auto job = std::next(cancelled.begin(), static_cast<std::ptrdiff_t>(held));
         job != cancelled.end(); ++job) {
      ended(job->file);
    }
    lock.unlock();
    for (const Job& job : cancelled) {
      job.give_up();
    }
    std::this_thread::sleep_for(kSweep);
    lock.lock();
  }
}

}  // namespace npyfs
