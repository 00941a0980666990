#include "cli/progress.h"

#include <algorithm>
#include <iostream>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/text.h"

namespace npyfs {
namespace {

using std::chrono::milliseconds;

// A copy that ends sooner shows no line at all.
constexpr milliseconds kFirst(500);
constexpr milliseconds kEvery(100);
constexpr std::size_t kBarWidth = 30;

// How wide the terminal is now; a line that went on into the next one could not be drawn over.
std::size_t columns() {
  constexpr std::size_t kUsual = 80;
  struct winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

}  // namespace

Progress::Progress(std::ostream* terminal, std::uint64_t total)
    : terminal_(terminal), total_(total), next_(start_ + kFirst) {}

void Progress::add(std::uint64_t bytes) {
  done_ += bytes;
  if (terminal_ == nullptr) {
    return;
  }
  const Clock::time_point now = Clock::now();
  if (now >= next_) {
    next_ = now + kEvery;
    drawn_ = true;
    draw(std::chrono::duration<double>(now - start_).count());
  }
}

void Progress::draw(double seconds) const {
  const double part =
      total_ == 0 ? 1 : std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(kBarWidth));
  const auto speed = static_cast<std::uint64_t>(static_cast<double>(done_) / seconds);
  const std::string percent = fmt::format("{:3.0f} %", 100 * part);
  const std::string bar =
      fmt::format(" [{}{}]", std::string(filled, '#'), std::string(kBarWidth - filled, '.'));
  const std::string figures =
      fmt::format(" {} of {}, {}/s", human_size(done_), human_size(total_), human_size(speed));
  std::string line = percent + bar + figures;
  if (const std::size_t most = columns() - 1; line.size() > most) {
    line = (percent + figures).substr(0, most);
  }
  *terminal_ << "\r" << line << "\x1b[K" << std::flush;
}

void Progress::clear() {
  if (drawn_) {
    *terminal_ << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }
}

std::ostream* terminal_of(std::ostream& err) {
  return &err == &std::cerr && ::isatty(STDERR_FILENO) == 1 ? &err : nullptr;
}

}  // namespace npyfs
