// Fork first: a child does all the work and reports through a pipe, so errors reach the terminal,
// the work may use threads, and exit status 0 means that the mount answers.
#pragma once

#include <functional>

namespace npyfs {

// Runs `child` in a process of its own, which leaves the session and the terminal once it calls the
// function it is given. Returns 0 in the parent when that happens. If `child` returns or throws
// before, the parent returns the child's result, or 1; its message has gone to stderr. In the child
// it doesn't return but exits with `child`'s result. SIGINT, SIGTERM and SIGHUP to the parent end
// the child too, from the first moment on; those it ignores stay ignored.
int run_detached(const std::function<int(const std::function<void()>& detach)>& child);

}  // namespace npyfs
