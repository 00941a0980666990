#include "fuse/end_signals.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "npyfs/base/signals.h"

namespace npyfs {
namespace {

// As libfuse waits. Returns once `ended` was seen.
void wait_as_libfuse(const std::atomic<bool>& ended, const std::function<void()>& before_waiting) {
  sem_t finish;
  ::sem_init(&finish, 0, 0);
  while (!ended) {
    before_waiting();
    ::sem_wait(&finish);
  }
  ::sem_destroy(&finish);
}

class EndSignalsTest : public testing::Test {
 protected:
  ~EndSignalsTest() override {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      sigaddset(&signals, signal);
    }
    const struct timespec none = {};
    while (::sigtimedwait(&signals, nullptr, &none) > 0) {
    }
  }

  // Runs the loop, and waits until `end` was called before it lets it wait.
  void run(const std::function<void()>& start) {
    const EndSignals signals;
    std::atomic<bool> ended = false;
    const auto loop = [&] {
      wait_as_libfuse(ended, [&] {
        start();
        ended.wait(false);
      });
    };
    signals.run(loop, [&] {
      ++ends_;
      ended = true;
      ended.notify_all();
    });
  }

  const SignalsBlocked before_;  // the mask is as it was when the test is over
  std::atomic<int> ends_ = 0;
};

TEST_F(EndSignalsTest, EachEndsALoopThatWasJustAboutToWait) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    for (int i = 0; i < 20; ++i) {
      ends_ = 0;
      run([signal] { ::kill(::getpid(), signal); });
      ASSERT_EQ(ends_, 1);
    }
  }
}

TEST_F(EndSignalsTest, OneThatCameBeforeCounts) {
  ::kill(::getpid(), SIGTERM);
  run([] {});
  EXPECT_EQ(ends_, 1);
}

TEST_F(EndSignalsTest, ASecondOneDoesNoHarm) {
  run([] {
    ::kill(::getpid(), SIGINT);
    ::kill(::getpid(), SIGTERM);
  });
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(ends_, 1);
}

TEST_F(EndSignalsTest, ALoopMayEndByItself) {
  for (int i = 0; i < 100; ++i) {
    const EndSignals signals;
    bool was_run = false;
    signals.run([&] { was_run = true; }, [&] { ++ends_; });
    ASSERT_TRUE(was_run);
  }
  EXPECT_EQ(ends_, 0);
}

TEST_F(EndSignalsTest, WhatIsIgnoredStaysSo) {
  ::signal(SIGHUP, SIG_IGN);  // as nohup does
  run([this] {
    ::kill(::getpid(), SIGHUP);
    ::kill(::getpid(), SIGURG);
    EXPECT_EQ(ends_, 0);
    ::kill(::getpid(), SIGTERM);
  });
  ::signal(SIGHUP, SIG_DFL);
  EXPECT_EQ(ends_, 1);
}

}  // namespace
}  // namespace npyfs
