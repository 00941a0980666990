// Calling off long work: whoever starts a decode says when it is no longer wanted, and decoders ask
// between blocks. It reaches through any depth of Sources, since the answer belongs to the thread.
#pragma once

#include <functional>

namespace npyfs {

// While it lives, work of this thread is off as soon as `cancelled` returns true. Scopes nest; the
// innermost counts.
class CancelScope {
 public:
  explicit CancelScope(std::function<bool()> cancelled);
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;
  ~CancelScope();

 private:
  std::function<bool()> cancelled_;
  const std::function<bool()>* outer_;
};

// True if the innermost scope of this thread says so; false where there is none.
bool is_cancelled();

// Throws Error (EINTR) if is_cancelled().
void throw_if_cancelled();

}  // namespace npyfs
