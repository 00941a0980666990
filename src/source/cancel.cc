#include "npyfs/source/cancel.h"

#include <utility>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

thread_local const std::function<bool()>* current = nullptr;

}  // namespace

CancelScope::CancelScope(std::function<bool()> cancelled)
    : cancelled_(std::move(cancelled)), outer_(current) {
  current = &cancelled_;
}

CancelScope::~CancelScope() { current = outer_; }

bool is_cancelled() { return current != nullptr && (*current)(); }

void throw_if_cancelled() {
  if (is_cancelled()) {
    throw_error(EINTR, "the reader went away");
  }
}

}  // namespace npyfs
