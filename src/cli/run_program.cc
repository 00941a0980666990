#include "cli/run_program.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/fd.h"

namespace npyfs {
namespace {

constexpr int kNotStarted = 127;
constexpr int kSignalled = 128;

std::string read_all(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  text.resize(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace

bool has_program(std::string_view name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment
  const char* path = ::getenv("PATH");
  std::string directories =
      std::string(path != nullptr ? path : "") + ":/usr/local/bin:/usr/bin:/bin";
  while (!directories.empty()) {
    const std::string directory = directories.substr(0, directories.find(':'));
    directories.erase(0, directory.size() + 1);
    const std::string file = directory + "/" + std::string(name);
    if (!directory.empty() && ::access(file.c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

ProgramResult run_program(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_system(errno, "pipe");
  }
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // posix_spawnp doesn't change them
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  pid_t pid = 0;
  const int failed =
      ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end = Fd();
  ProgramResult result;
  if (failed != 0) {
    result.status = kNotStarted;
    return result;
  }
  result.output = read_all(read_end.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return result;
}

}  // namespace npyfs
