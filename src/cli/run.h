// The command line as a function, so that tests can call it.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace npyfs {

// `words`: the program's name as it was called, then the arguments. Results go to `out`, the rest
// to `err`. Returns the exit status: 0 done, 1 failed, 2 wrong usage. Doesn't throw.
int run(std::span<const std::string> words, std::ostream& out, std::ostream& err);

// The text of --version: of npyfs and of the libraries it runs with.
std::string version_text();

}  // namespace npyfs
