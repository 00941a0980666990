// Another program run to its end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npyfs {

// Whether the program is in a directory of PATH, or where systems keep such programs.
bool has_program(std::string_view name);

struct ProgramResult {
  int status = 0;      // of its exit; 127 if it couldn't be started, 128 + n for signal n
  std::string output;  // standard output and error, without newlines at the end
};

// `words`: the program's name, looked up in PATH, and its arguments. Throws Error if no process can
// be made.
ProgramResult run_program(const std::vector<std::string>& words);

}  // namespace npyfs
