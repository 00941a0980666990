#include "cli/log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <syslog.h>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>

#include "npyfs/base/error.h"

#include "cli/usage.h"

namespace npyfs {
namespace {

constexpr std::array<std::string_view, 7> kLevels = {"trace", "debug",    "info", "warn",
                                                     "error", "critical", "off"};

spdlog::sink_ptr sink_of(const LogOptions& options, bool foreground) {
  if (!options.file.empty()) {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file);
  }
  if (foreground) {
    return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  return std::make_shared<spdlog::sinks::syslog_sink_mt>("npyfs", LOG_PID, LOG_DAEMON, true);
}

}  // namespace

LogLevel parse_log_level(std::string_view option, const std::string& text) {
  const auto found =
      std::ranges::find(kLevels, text == "warning" ? "warn" : std::string_view(text));
  if (found == kLevels.end()) {
    throw UsageError(std::string(option) + ": '" + text +
                     "' is not a level; there are trace, debug, info, warn, error, critical, off");
  }
  return static_cast<LogLevel>(found - kLevels.begin());
}

void start_log(const LogOptions& options, bool foreground) {
  spdlog::sink_ptr sink;
  try {
    sink = sink_of(options, foreground);
  } catch (const spdlog::spdlog_ex& e) {
    throw_error(EIO, options.file + ": the log can't be written: " + e.what());
  }
  auto logger = std::make_shared<spdlog::logger>("npyfs", std::move(sink));
  logger->set_level(static_cast<spdlog::level::level_enum>(options.level));
  // syslog stamps lines itself.
  const bool to_syslog = options.file.empty() && !foreground;
  logger->set_pattern(to_syslog    ? "%l: %v"
                      : foreground ? "npyfs: %l: %v"
                                   : "%Y-%m-%d %H:%M:%S.%e npyfs[%P] %l: %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace npyfs
