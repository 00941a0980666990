#include "cli/interrupts.h"

#include <cstddef>

namespace npyfs {
namespace {

volatile sig_atomic_t caught_signal = 0;

void note(int signal) { caught_signal = signal; }

}  // namespace

Interrupts::Interrupts() {
  caught_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (std::size_t i = 0; i < kEndSignals.size(); ++i) {
    ::sigaction(kEndSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) {  // nohup and the like
      ::sigaction(kEndSignals[i], &action, nullptr);
    }
  }
}

Interrupts::~Interrupts() {
  for (std::size_t i = 0; i < kEndSignals.size(); ++i) {
    ::sigaction(kEndSignals[i], &before_[i], nullptr);
  }
}

int Interrupts::caught() { return caught_signal; }

}  // namespace npyfs
