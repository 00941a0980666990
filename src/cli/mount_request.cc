#include "cli/mount_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/option_list.h"
#include "cli/usage.h"
#include "cli/values.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kMostCache = std::uint64_t{256} << 20;
constexpr std::uint64_t kMostThreads = 256;
constexpr std::uint64_t kMostReadaheadKib = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostId = std::numeric_limits<uid_t>::max() - 1;  // the last means "none"

// A value, and the option as it is called in errors.
struct Given {
  std::string option;
  std::string value;
};
struct ValueOption {
  std::string_view name;
  void (*set)(MountRequest& request, const Given& given);
};
struct FlagOption {
  std::string_view name;
  void (*set)(MountRequest& request);
};

std::uint64_t number(const Given& given, std::uint64_t least, std::uint64_t most) {
  return parse_number(given.option, given.value, least, most);
}

void set_threads(MountRequest& request, const Given& given) {
  const auto threads = static_cast<unsigned>(number(given, 1, kMostThreads));
  request.mount.threads = threads;
  request.decoder.threads = threads;
}

void set_readahead(MountRequest& request, const Given& given) {
  request.mount.readahead_kib = static_cast<unsigned>(number(given, 0, kMostReadaheadKib));
}

void set_uid(MountRequest& request, const Given& given) {
  request.mount.uid = static_cast<uid_t>(number(given, 0, kMostId));
}

void set_gid(MountRequest& request, const Given& given) {
  request.mount.gid = static_cast<gid_t>(number(given, 0, kMostId));
}

// libfuse reads its options with commas between them again.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    out += c == ',' || c == '\\' ? "\\" : "";
    out += c;
  }
  return out;
}

constexpr ValueOption kValueOptions[] = {
    {"views", [](auto& r, const Given& g) { r.mount.listed = parse_views(g.option, g.value); }},
    {"split", [](auto& r, const Given& g) { r.load.split = parse_split(g.option, g.value); }},
    {"dtype",
     [](auto& r, const Given& g) { r.load.types.push_back(parse_type_rule(g.option, g.value)); }},
    {"cache-size",
     [](auto& r, const Given& g) { r.decoder.cache_bytes = parse_size(g.option, g.value); }},
    {"index-dir", [](auto& r, const Given& g) { r.index_directory = g.value; }},
    {"threads", set_threads},
    {"readahead", set_readahead},
    {"log-file", [](auto& r, const Given& g) { r.log.file = g.value; }},
    {"log-level",
     [](auto& r, const Given& g) { r.log.level = parse_log_level(g.option, g.value); }},
    {"uid", set_uid},
    {"gid", set_gid},
    {"umask", [](auto& r, const Given& g) { r.mount.umask = parse_umask(g.option, g.value); }},
};

constexpr FlagOption kFlagOptions[] = {
    {"foreground", [](MountRequest& r) { r.foreground = true; }},
    {"debug", [](MountRequest& r) { r.mount.debug = true; }},
    {"single-thread", [](MountRequest& r) { r.mount.single_threaded = true; }},
    {"nonempty", [](MountRequest& r) { r.nonempty = true; }},
    {"auto_unmount", [](MountRequest& r) { r.auto_unmount = true; }},
    {"follow", [](MountRequest& r) { r.follow = true; }},
};

// For libfuse and the kernel, as they stand.
constexpr std::array<std::string_view, 9> kKernelFlags = {
    "allow_other", "allow_root", "default_permissions", "noexec", "exec", "nosuid", "nodev",
    "noatime",     "atime"};
constexpr std::array<std::string_view, 7> kKernelValues = {
    "fsname", "subtype", "max_read", "context", "fscontext", "defcontext", "rootcontext"};

// For mount(8) alone; or so anyway, since nothing can be written; or of no meaning in a mount that
// has neither devices nor set-user-ID files. With or without a value.
constexpr std::string_view kDropped[] = {
    "ro",         "rw",       "defaults",   "auto",        "noauto",        "user",
    "nouser",     "users",    "nousers",    "owner",       "noowner",       "group",
    "nogroup",    "_netdev",  "nofail",     "comment",     "uhelper",       "helper",
    "suid",       "dev",      "sync",       "async",       "dirsync",       "relatime",
    "norelatime", "diratime", "nodiratime", "strictatime", "nostrictatime", "lazytime",
    "nolazytime", "mand",     "nomand",     "iversion",    "noiversion",    "silent",
    "loud"};

bool is_dropped(std::string_view name) {
  return name.starts_with("x-") || name.starts_with("X-") ||
         std::ranges::find(kDropped, name) != std::end(kDropped);
}

template <typename Options>
auto find_option(const Options& options, std::string_view name) {
  const auto found =
      std::ranges::find(options, name, [](const auto& option) { return option.name; });
  return found == std::end(options) ? nullptr : &*found;
}

std::vector<std::string> known_options() {
  std::vector<std::string> names(kKernelFlags.begin(), kKernelFlags.end());
  names.insert(names.end(), kKernelValues.begin(), kKernelValues.end());
  names.insert(names.end(), std::begin(kDropped), std::end(kDropped));
  for (const ValueOption& option : kValueOptions) {
    names.emplace_back(option.name);
  }
  for (const FlagOption& option : kFlagOptions) {
    names.emplace_back(option.name);
  }
  return names;
}

const std::string& value_of(const OptionText& option) {
  if (!option.value || option.value->empty()) {
    throw UsageError(option.shown_as + ": needs a value: " + option.name + "=...");
  }
  return *option.value;
}

void refuse_value(const OptionText& option) {
  if (option.value) {
    throw UsageError(option.shown_as + ": takes no value, but is given '" + *option.value + "'");
  }
}

// False if it is none of these.
bool set_kernel_option(MountRequest& request, const OptionText& option) {
  std::vector<std::string>& options = request.mount.kernel_options;
  if (std::ranges::find(kKernelFlags, option.name) != kKernelFlags.end()) {
    refuse_value(option);
    request.allow_others |= option.name == "allow_other" || option.name == "allow_root";
    if (std::ranges::find(options, option.name) == options.end()) {
      options.push_back(option.name);
    }
    return true;
  }
  if (std::ranges::find(kKernelValues, option.name) != kKernelValues.end()) {
    options.push_back(option.name + "=" + escaped(value_of(option)));
    return true;
  }
  return false;
}

}  // namespace

MountRequest default_request() {
  MountRequest request;
  request.mount.umask = ::umask(0);  // it can only be read by setting it
  ::umask(request.mount.umask);
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0) {
    const std::uint64_t memory =
        static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_size);
    request.decoder.cache_bytes = std::min(kMostCache, memory / 16);
  }
  return request;
}

void set_option(MountRequest& request, const OptionText& option, bool sloppy) {
  if (const ValueOption* own = find_option(kValueOptions, option.name)) {
    own->set(request, {option.shown_as, value_of(option)});
  } else if (const FlagOption* flag = find_option(kFlagOptions, option.name)) {
    refuse_value(option);
    flag->set(request);
  } else if (!set_kernel_option(request, option) && !is_dropped(option.name) && !sloppy) {
    if (option.name == "remount") {
      throw UsageError(option.shown_as + ": a mount can't be changed; unmount it and mount again");
    }
    throw UsageError("-o: there is no option '" + option.name + "'" +
                     did_you_mean(option.name, known_options()));
  }
}

void set_options(MountRequest& request, std::string_view list, bool sloppy) {
  for (const ListedOption& option : parse_option_list(list)) {
    const std::string shown_as = "-o " + option.name;
    if (option.name == "dtype" && option.value) {
      for (const std::string& rule : split_value(*option.value)) {
        set_option(request, {option.name, rule, shown_as}, sloppy);
      }
    } else {
      set_option(request, {option.name, option.value, shown_as}, sloppy);
    }
  }
}

void settle(MountRequest& request) {
  request.foreground |= request.mount.debug;
  request.load.confine_links = request.allow_others && !request.follow;
  if (request.mount.debug) {
    request.log.level = std::min(request.log.level, LogLevel::kDebug);
  }
  if (request.mount.single_threaded) {
    request.decoder.threads = 0;
  }
}

}  // namespace npyfs
