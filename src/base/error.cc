#include "npyfs/base/error.h"

#include <string.h>

namespace npyfs {

void throw_error(int errno_value, const std::string& message) { throw Error(errno_value, message); }

void throw_system(int errno_value, const std::string& what) {
  const char* description = strerrordesc_np(errno_value);
  throw Error(errno_value, what + ": " + (description != nullptr ? description : "unknown error"));
}

std::string errno_name(int errno_value) {
  const char* name = strerrorname_np(errno_value);
  return name != nullptr ? name : std::to_string(errno_value);
}

}  // namespace npyfs
