#include <iostream>
#include <string>
#include <vector>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/run.h"

int main(int argc, char** argv) {
  // Or libzip's mktime looks at that file once a member.
  ::setenv("TZ", ":/etc/localtime", 0);  // NOLINT(concurrency-mt-unsafe): there are no threads yet
  // Errors of write(2), so that what was begun is tidied up: a reader that went away, and a file
  // beyond the user's limit.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  npyfs::OutputStream out(STDOUT_FILENO);
  return npyfs::run(std::vector<std::string>(argv, argv + argc), out, std::cerr);
}
