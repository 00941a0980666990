// The program run in the test's own process.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/run.h"

namespace npyfs {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

// `npyfs WORDS...`, or called by another name.
inline Outcome npyfs(std::vector<std::string> words, const std::string& program = "npyfs") {
  words.insert(words.begin(), program);
  std::ostringstream out;
  std::ostringstream err;
  const int status = run(words, out, err);
  return {status, out.str(), err.str()};
}

}  // namespace npyfs
