#include "npyfs/fuse/detach.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npyfs/base/error.h"

#include "support/temp_dir.h"
#include "support/waiting.h"

namespace npyfs {
namespace {

using Detach = std::function<void()>;

// What run_detached returns in a process of its own, so that its signal handlers stay there; with
// what was written to stderr.
struct Outcome {
  int status = -1;
  std::string errors;
};

class DetachTest : public testing::Test {
 protected:
  Outcome run(const std::function<int(const Detach&)>& child) {
    const std::string errors = dir_.path("stderr");
    std::fflush(nullptr);  // or the child writes it again
    const pid_t parent = ::fork();
    if (parent == 0) {
      const int fd = ::open(errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      ::dup2(fd, STDERR_FILENO);
      ::_exit(run_detached(child));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(parent, &status, 0), parent);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(errors)};
  }

  // The file's text, once it has some; fails and throws if it gets none.
  std::string wait_for(const std::string& path) {
    wait_until(
        [&] { return std::filesystem::exists(path) && std::filesystem::file_size(path) > 0; });
    return read_file(path);
  }

  TempDir dir_;
};

// Written whole, since somebody waits for it.
void write_line(const std::string& path, const std::string& line) {
  std::ofstream(path + ".new") << line << std::endl;
  std::filesystem::rename(path + ".new", path);
}

TEST_F(DetachTest, TheParentReturnsOnceTheChildDetaches) {
  const std::string report = dir_.path("report");
  const Outcome outcome = run([&](const Detach& detach) {
    detach();
    const bool leads_session = ::getsid(0) == ::getpid();
    write_line(report,
               std::filesystem::current_path().string() + (leads_session ? " session" : ""));
    return 0;
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(wait_for(report), "/ session\n");
}

TEST_F(DetachTest, WhatADetachedChildWritesGoesNowhere) {
  const std::string report = dir_.path("report");
  const Outcome outcome = run([&](const Detach& detach) {
    detach();
    std::cerr << "unheard" << std::endl;
    write_line(report, "done");
    return 0;
  });
  EXPECT_EQ(wait_for(report), "done\n");
  EXPECT_EQ(read_file(dir_.path("stderr")), "");
}

TEST_F(DetachTest, AChildThatReturnsBeforeGivesItsStatus) {
  EXPECT_EQ(run([](const Detach&) { return 2; }).status, 2);
  EXPECT_EQ(run([](const Detach&) { return 0; }).status, 1) << "it never got ready";
}

TEST_F(DetachTest, AChildThatThrowsBeforeSaysWhy) {
  const Outcome outcome = run([](const Detach&) -> int { throw Error(EIO, "x.npz: cut short"); });
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.errors, "npyfs: x.npz: cut short\n");
}

TEST_F(DetachTest, AChildThatIsKilledIsAFailure) {
  EXPECT_EQ(run([](const Detach&) {
              ::kill(::getpid(), SIGKILL);
              return 0;
            }).status,
            1);
}

TEST_F(DetachTest, WorksWithTheStandardDescriptorsClosed) {
  const std::string report = dir_.path("report");
  std::fflush(nullptr);
  const pid_t parent = ::fork();
  if (parent == 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      ::close(standard);
    }
    ::_exit(run_detached([&](const Detach& detach) {
      detach();
      write_line(report, "detached");
      ::sleep(2);  // the parent must not wait for it
      return 7;
    }));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(wait_for(report), "detached\n");
}

// The child signals its parent as soon as it lives, which may be before fork has returned there.
TEST_F(DetachTest, SignalsToTheParentEndTheChild) {
  const std::string report = dir_.path("report");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (int i = 0; i < 100; ++i) {
      std::filesystem::remove(report);
      const Outcome outcome = run([&](const Detach&) {
        const pid_t parent = ::getppid();
        write_line(report, std::to_string(::getpid()));
        ::kill(parent, signal);
        ::sleep(10);
        return 0;
      });
      const pid_t child = std::atoi(wait_for(report).c_str());
      ASSERT_GT(child, 0);
      EXPECT_EQ(outcome.status, 1) << "signal " << signal << ", round " << i;
      ASSERT_NE(::kill(child, SIGKILL), 0) << "signal " << signal << ", round " << i;
    }
  }
}

TEST_F(DetachTest, TheChildGetsSignalsAsIfItWereCalled) {
  std::array<sigset_t, 2> masks{};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &masks[0]);
  const Outcome outcome = run([&](const Detach&) {
    ::pthread_sigmask(SIG_BLOCK, nullptr, &masks[1]);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action = {};
      ::sigaction(signal, nullptr, &action);
      if (sigismember(&masks[0], signal) != sigismember(&masks[1], signal) ||
          action.sa_handler != SIG_DFL) {
        return signal + 10;
      }
    }
    return 3;
  });
  EXPECT_EQ(outcome.status, 3);
}

TEST_F(DetachTest, SignalsTheParentIgnoresStayIgnored) {
  std::fflush(nullptr);
  const pid_t nohup = ::fork();
  if (nohup == 0) {
    ::signal(SIGHUP, SIG_IGN);  // as nohup does
    ::_exit(run_detached([&](const Detach&) {
      ::kill(::getppid(), SIGHUP);
      ::kill(::getpid(), SIGHUP);
      return 3;
    }));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(nohup, &status, 0), nohup);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace npyfs
