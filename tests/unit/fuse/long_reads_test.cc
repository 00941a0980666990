#include "fuse/long_reads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <signal.h>

#include <gtest/gtest.h>

#include "support/waiting.h"

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
  // False if it took more than two minutes: then it won't.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(2), [this] { return happened_; });
  }

 private:
  std::mutex mutex_;  // guards happened_
  std::condition_variable changed_;
  bool happened_ = false;
};

bool never() { return false; }

// Gives a thread work on file 0 until `go`; false if no thread takes it.
bool occupy(LongReads& reads, Event& go) {
  const auto started = std::make_shared<Event>();
  reads.add({0, never,
             [started, &go] {
               started->happen();
               go.wait();
             },
             [] {}});
  return started->wait();
}

TEST(LongReadsTest, EveryJobRunsOnce) {
  std::atomic<int> run = 0;
  std::atomic<int> given_up = 0;
  Event all;
  {
    LongReads reads(3);
    for (int i = 0; i < 1000; ++i) {
      reads.add({0, never,
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
    reads.add({0, never, [&] { go.wait(); }, [] {}});
  }
  go.happen();  // add returned fifty times though the first is still at work
}

TEST(LongReadsTest, AFileDoesNotWaitForAnother) {
  Event go;
  Event other;
  LongReads reads(2);
  for (int i = 0; i < 4; ++i) {
    reads.add({7, never, [&] { go.wait(); }, [] {}});
  }
  reads.add({8, never, [&] { other.happen(); }, [] {}});
  EXPECT_TRUE(other.wait()) << "behind four of another file";
  go.happen();
}

TEST(LongReadsTest, OfAFileAFewAreUnderWayAndTheOthersInTheirOrder) {
  std::mutex mutex;
  std::vector<int> order;
  int now = 0;
  int most = 0;
  Event all;
  LongReads reads(1);
  for (int i = 0; i < 100; ++i) {
    const auto run = [&, i] {
      const std::unique_lock lock(mutex, std::try_to_lock);
      ASSERT_TRUE(lock.owns_lock()) << "two at once";
      most = std::max(most, ++now);
      order.push_back(i);
      --now;
      if (i == 99) {
        all.happen();
      }
    };
    reads.add({5, never, run, [] {}});
  }
  ASSERT_TRUE(all.wait());
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(LongReadsTest, MoreFilesThanThreadsGetTheirTurn) {
  Event go;
  Event all;
  std::atomic<std::size_t> at_work = 0;
  std::atomic<std::size_t> done = 0;
  constexpr std::size_t kFiles = LongReads::kMostAtOnce + 10;
  LongReads reads(2);
  for (std::size_t i = 0; i < kFiles; ++i) {
    const auto run = [&] {
      EXPECT_LE(++at_work, LongReads::kMostAtOnce);
      go.wait();
      --at_work;
      if (++done == kFiles) {
        all.happen();
      }
    };
    reads.add({i, never, run, [] {}});
  }
  go.happen();
  EXPECT_TRUE(all.wait());
}

TEST(LongReadsTest, AReaderOfAFileThatWentAwayLetsTheNextOneOfItGo) {
  Event go;
  Event next;
  std::atomic<bool> gone = false;
  std::atomic<int> given_up = 0;
  LongReads reads(1);
  ASSERT_TRUE(occupy(reads, go));
  for (int i = 0; i < 3; ++i) {
    reads.add(
        {0, [&] { return gone.load(); }, [] { ADD_FAILURE() << "ran"; }, [&] { ++given_up; }});
  }
  reads.add({0, never, [&] { next.happen(); }, [] {}});
  gone = true;
  go.happen();
  EXPECT_TRUE(next.wait());
  wait_until([&] { return given_up == 3; });  // by a thread that may still be at it
}

TEST(LongReadsTest, AReaderThatWentAwayIsAnsweredWhileAllThreadsAreAtWork) {
  Event go;
  Event given_up;
  std::atomic<bool> gone = false;
  LongReads reads(1);
  ASSERT_TRUE(occupy(reads, go));
  reads.add(
      {0, [&] { return gone.load(); }, [] { ADD_FAILURE() << "ran"; }, [&] { given_up.happen(); }});
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
    reads.add({0, never,
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
      reads.add(
          {0, [&] { return stop.load(); }, [] { ADD_FAILURE() << "ran"; }, [&] { ++given_up; }});
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
  reads.add({0, never,
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
