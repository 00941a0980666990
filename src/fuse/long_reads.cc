#include "fuse/long_reads.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "npyfs/base/signals.h"

namespace npyfs {
namespace {

// How long a reader that was killed may have to wait while its read is still queued.
constexpr std::chrono::milliseconds kSweep(50);

}  // namespace

LongReads::LongReads(unsigned of_a_file) : of_a_file_(of_a_file) {
  const SignalsBlocked blocked;
  const std::lock_guard lock(mutex_);
  while (threads_.size() < of_a_file_) {
    start_thread();
  }
  sweeper_ = std::jthread([this] { sweep(); });
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
  const std::lock_guard lock(mutex_);
  unsigned& turns = turns_[job.file];
  if (turns == of_a_file_) {
    held_.push_back(std::move(job));
    changed_.notify_all();  // the sweeper looks at it too
    return;
  }
  ready_.push_back(std::move(job));
  ++turns;
  if (ready_.size() > idle_ && threads_.size() < kMostAtOnce) {
    const SignalsBlocked blocked;
    try {
      start_thread();
    } catch (const std::system_error&) {
      // No more threads to be had: it waits for one of those there are.
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
    const Job job = std::move(ready_.front());
    ready_.pop_front();
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
    ready_.push_back(std::move(*next));
    held_.erase(next);
    changed_.notify_all();
  } else if (--turns_[file] == 0) {
    turns_.erase(file);
  }
}

// Answers those that wait in vain, while all threads are at long work.
void LongReads::sweep() {
  std::unique_lock lock(mutex_);
  const auto has_jobs = [this] { return !ready_.empty() || !held_.empty(); };
  while (changed_.wait(lock, stop_.get_token(), has_jobs)) {
    std::vector<Job> cancelled;
    const auto take_cancelled = [&](std::deque<Job>& jobs) {
      std::erase_if(jobs, [&](const Job& job) {
        const bool off = job.cancelled();
        if (off) {
          cancelled.push_back(job);
        }
        return off;
      });
    };
    take_cancelled(held_);
    const std::size_t held = cancelled.size();
    take_cancelled(ready_);
    for (std::size_t i = held; i < cancelled.size(); ++i) {
      ended(cancelled[i].file);
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
