#include "fuse/long_reads.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <signal.h>

#include <gtest/gtest.h>

namespace npyfs {
namespace {

// Something that happens once, for others to wait for.
class Event {
 public:
  void happen() {
    const std::lock_guard lock(mutex_);
    happened_ = true;
    changed_.notify_all();
  }
  // False if it took more than ten seconds.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return happened_; });
  }

 private:
  std::mutex mutex_;  // guards happened_
  std::condition_variable changed_;
  bool happened_ = false;
};

bool never() { return false; }

TEST(LongReadsTest, EveryJobRunsOnce) {
  std::atomic<int> run = 0;
  std::atomic<int> given_up = 0;
  Event all;
  {
    LongReads reads(3);
    for (int i = 0; i < 1000; ++i) {
      reads.add({never,
                 [&] {
                   if (++run == 1000) {
                     all.happen();
                   }
                 },
                 [&] { ++given_up; }});
    }
    EXPECT_TRUE(all.wait());
  }
  EXPECT_EQ(run, 1000);
  EXPECT_EQ(given_up, 0);
}

TEST(LongReadsTest, WaitingDoesNotTakeAThreadOfTheCallers) {
  Event go;
  LongReads reads(1);
  for (int i = 0; i < 50; ++i) {
    reads.add({never, [&] { go.wait(); }, [] {}});
  }
  go.happen();  // add returned fifty times though the first is still at work
}

TEST(LongReadsTest, AReaderThatWentAwayIsAnsweredWhileAllThreadsAreAtWork) {
  Event go;
  Event started;
  Event given_up;
  std::atomic<bool> gone = false;
  LongReads reads(1);
  reads.add({never,
             [&] {
               started.happen();
               go.wait();
             },
             [] {}});
  ASSERT_TRUE(started.wait());
  reads.add(
      {[&] { return gone.load(); }, [] { ADD_FAILURE() << "ran"; }, [&] { given_up.happen(); }});
  gone = true;
  EXPECT_TRUE(given_up.wait());
  go.happen();
}

TEST(LongReadsTest, TheEndGivesUpWhatWaitsAndWaitsForWhatRuns) {
  std::atomic<bool> stop = false;
  std::atomic<int> run = 0;
  std::atomic<int> given_up = 0;
  Event started;
  {
    LongReads reads(1);
    reads.add({never,
               [&] {
                 started.happen();
                 while (!stop) {
                   std::this_thread::yield();
                 }
                 ++run;
               },
               [] {}});
    ASSERT_TRUE(started.wait());
    for (int i = 0; i < 20; ++i) {
      reads.add({[&] { return stop.load(); }, [] { ADD_FAILURE() << "ran"; }, [&] { ++given_up; }});
    }
    stop = true;
  }
  EXPECT_EQ(run, 1);
  EXPECT_EQ(given_up, 20);
}

TEST(LongReadsTest, ItsThreadsLeaveTheSignalsToOthers) {
  Event done;
  sigset_t blocked;
  LongReads reads(1);
  reads.add({never,
             [&] {
               ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
               done.happen();
             },
             [] {}});
  ASSERT_TRUE(done.wait());
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_EQ(sigismember(&blocked, signal), 1);
  }
  sigset_t own;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0) << "the caller's mask is as it was";
}

}  // namespace
}  // namespace npyfs
