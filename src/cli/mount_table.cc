#include "cli/mount_table.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include <stdlib.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

struct Free {
  void operator()(char* text) const { ::free(text); }
};

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, Free> resolved(::realpath(path.c_str(), nullptr));
  return resolved == nullptr ? std::nullopt : std::optional<std::string>(resolved.get());
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// Blanks and backslashes stand as \ooo.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
        is_octal(text[i + 3])) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The number after "user_id=" in the options with commas between them.
std::optional<uid_t> user_in(std::string_view options) {
  constexpr std::string_view kName = "user_id=";
  while (!options.empty()) {
    const std::string_view option = options.substr(0, options.find(','));
    options.remove_prefix(std::min(options.size(), option.size() + 1));
    uid_t user = 0;
    if (option.starts_with(kName) &&
        std::from_chars(option.data() + kName.size(), option.data() + option.size(), user).ec ==
            std::errc()) {
      return user;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Mounted> parse_mount_table(std::istream& table) {
  constexpr int kBeforeMountpoint = 4;  // ids, device, root
  std::vector<Mounted> mounts;
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < kBeforeMountpoint; ++i) {
      words >> word;
    }
    Mounted mounted;
    words >> word;
    mounted.mountpoint = unescape(word);
    while (words >> word && word != "-") {
    }
    words >> mounted.type >> word;
    mounted.source = unescape(word);
    if (words) {
      words >> word;
      mounted.user = user_in(word);
      mounts.push_back(std::move(mounted));
    }
  }
  return mounts;
}

std::optional<Mounted> mounted_at(const std::string& path) {
  std::ifstream file("/proc/self/mountinfo");
  std::optional<Mounted> found;
  for (Mounted& mounted : parse_mount_table(file)) {
    if (mounted.mountpoint == path) {
      found = std::move(mounted);  // a later one lies on top
    }
  }
  return found;
}

std::string resolve(const std::string& path) {
  if (auto real = real_path(path)) {
    return *real;
  }
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) {
    trimmed.pop_back();
  }
  const std::size_t slash = trimmed.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : trimmed.substr(0, slash);
  const std::string name = trimmed.substr(slash == std::string::npos ? 0 : slash + 1);
  const auto real = real_path(parent);
  if (!real) {
    throw_system(errno, parent);
  }
  if (name.empty() || name == "." || name == "..") {
    throw_system(ENOENT, path);
  }
  return (*real == "/" ? "" : *real) + "/" + name;
}

}  // namespace npyfs
