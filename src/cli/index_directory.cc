#include "cli/index_directory.h"

#include <cstdlib>
#include <ostream>
#include <string_view>

#include <pwd.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "npyfs/base/error.h"

#include "cli/text.h"

namespace npyfs {
namespace {

constexpr std::string_view kAuto = "auto";

// An absolute path in the environment; "" if there is none: the XDG specification has others
// ignored.
std::string path_in_environment(const char* name) {
  const char* value = ::getenv(name);  // NOLINT(concurrency-mt-unsafe): there is one thread
  return value != nullptr && *value == '/' ? value : "";
}

// mount(8) and systemd may leave HOME out.
std::string home() {
  std::string home = path_in_environment("HOME");
  if (!home.empty()) {
    return home;
  }
  const passwd* entry = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): likewise
  return entry != nullptr && *entry->pw_dir == '/' ? entry->pw_dir : "";
}

}  // namespace

std::string cache_directory() {
  const std::string cache = path_in_environment("XDG_CACHE_HOME");
  if (!cache.empty()) {
    return cache + "/npyfs";
  }
  const std::string at_home = home();
  return at_home.empty() ? "" : at_home + "/.cache/npyfs";
}

std::shared_ptr<const RestartStore> open_index(const std::string& given, std::ostream& err) {
  if (given.empty()) {
    return nullptr;
  }
  const std::string directory = given == kAuto ? cache_directory() : given;
  const auto warn = [&](const std::string& what) {
    err << "npyfs: " << printable(what) << "; the mount goes on without keeping an index"
        << std::endl;
  };
  if (directory.empty()) {
    warn("--index-dir auto: you have no home directory");
    return nullptr;
  }
  try {
    auto store = std::make_shared<const RestartStore>(
        directory, [](const std::string& text) { spdlog::warn("{}", printable(text)); });
    if (!store->why_read_only().empty()) {
      warn(directory + ": " + store->why_read_only());
    }
    return store;
  } catch (const Error& e) {
    warn(e.what());
    return nullptr;
  }
}

}  // namespace npyfs
