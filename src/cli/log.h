// Where a mount writes what happens to it: standard error in the foreground; once in the
// background, a file or syslog.
#pragma once

#include <string>
#include <string_view>

namespace npyfs {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kCritical, kOff };

struct LogOptions {
  std::string file;  // "" for standard error or syslog
  LogLevel level = LogLevel::kInfo;
};

// Throws UsageError with the levels there are; `option` stands in front.
LogLevel parse_log_level(std::string_view option, const std::string& text);

// Makes it spdlog's default logger. Throws Error if the file can't be written. Not while other
// threads log.
void start_log(const LogOptions& options, bool foreground);

}  // namespace npyfs
