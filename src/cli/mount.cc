#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include <malloc.h>
#include <sys/resource.h>

#include <spdlog/spdlog.h>

#include "npyfs/base/error.h"
#include "npyfs/fuse/detach.h"
#include "npyfs/fuse/serve.h"

#include "cli/auto_unmount.h"
#include "cli/command.h"
#include "cli/fuse_setup.h"
#include "cli/index_directory.h"
#include "cli/mount_point.h"
#include "cli/mount_request.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace npyfs {
namespace {

constexpr std::size_t kMostWarnings = 5;

constexpr const char* kMountFooter =
    "options of -o:\n"
    "  allow_other, allow_root, default_permissions, noexec, nosuid, nodev, noatime,\n"
    "  max_read=N, fsname=NAME, subtype=NAME as FUSE has them; uid=N, gid=N and umask=MASK\n"
    "  change what files show; auto_unmount takes the mount away when its program is killed;\n"
    "  nonempty mounts over a directory that isn't empty; follow shows symbolic links that lead\n"
    "  out of the source even to other users. Every long option works too, as fstab needs it:\n"
    "  views=npy:raw, dtype=*.w=bfloat16:*.b=float8_e5m2, cache-size=1G. A comma in a value is\n"
    "  written \\, there, a colon in a list \\: likewise.\n"
    "  What else mount(8) and fstab know (ro, rw, user, nofail, _netdev, ...) is accepted.\n"
    "\n"
    "Exit status: 0 once the mount answers, 1 if it failed, 2 for wrong usage.";

// A directory of ten thousand shards keeps many files open.
void raise_file_limit() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void warn_of_problems(const Catalog& catalog, const std::string& source, std::ostream& err) {
  const std::vector<Problem>& problems = catalog.problems();
  for (std::size_t i = 0; i < std::min(problems.size(), kMostWarnings); ++i) {
    const std::string what = located(problems[i].where, "", problems[i].what);
    err << "npyfs: " << located(source, "", what) << '\n';
  }
  if (problems.size() > kMostWarnings) {
    err << "npyfs: " << printable(source) << ": and " << grouped(problems.size() - kMostWarnings)
        << " more; see .npyfs/errors.json in the mount\n";
  }
  err.flush();
}

// What loading took and gave back lies between what stays, and malloc keeps it: more than half of
// what a mount of a million arrays has.
void return_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

int mount_and_serve(const MountRequest& request, const MountPoint& mount_point, std::ostream& err,
                    const std::function<void()>& detach) {
  std::optional<AutoUnmount> auto_unmount;
  if (request.auto_unmount) {
    auto_unmount.emplace(mount_point.path());
  }
  Decoder::Options decoding = request.decoder;
  decoding.store = open_index(request.index_directory, err);
  auto decoder = std::make_shared<Decoder>(decoding);
  Catalog catalog = load(request.source, request.load, decoder);
  return_free_memory();
  warn_of_problems(catalog, request.source, err);
  start_log(request.log, request.foreground);
  MountOptions options = request.mount;
  options.source = std::filesystem::absolute(request.source).lexically_normal().string();
  options.mountpoint = mount_point.path();
  const MountPoint::Held held(mount_point);
  serve(std::move(catalog), decoder, options, [&](const std::string& warning) {
    if (!warning.empty()) {
      err << "npyfs: " << printable(options.mountpoint) << ": " << warning << std::endl;
    }
    spdlog::info("{}: mounted on {}", options.source, options.mountpoint);
    detach();
  });
  spdlog::info("{}: unmounted", options.mountpoint);
  return 0;
}

int mount(MountRequest request, std::ostream& err) {
  settle(request);
  std::error_code error;
  if (!std::filesystem::exists(request.source, error)) {
    throw_system(error ? error.value() : ENOENT, request.source);
  }
  check_fuse(FuseSetup::here(), request.allow_others);
  const MountPoint mount_point(request.mountpoint, request.source, request.nonempty);
  raise_file_limit();
  if (request.foreground) {
    return mount_and_serve(request, mount_point, err, [] {});
  }
  return run_detached([&](const std::function<void()>& detach) {
    return mount_and_serve(request, mount_point, err, detach);
  });
}

// The options of the verb that have names of their own, in the words of the command line.
struct MountWords {
  bool foreground = false;
  bool debug = false;
  bool single = false;
  std::vector<std::string> lists;  // of -o
  std::string views;
  std::string cache_size;
  std::string index_dir;
  std::string threads;
  std::string readahead;
  std::string log_file;
  std::string log_level;

  void add_to(Command& command) {
    command.repeatable("-o", "LIST", lists, "mount options with commas between them, see below");
    command.option("--views", "LIST", views,
                   "files listed for each array, of\n"
                   "npy:raw:u8view:meta:f32view:c64view, or all\n"
                   "(npy:raw:u8view:meta); others open by name all the same");
    command.option(
        "--cache-size", "BYTES", cache_size,
        "memory for decoded blocks: 64M, 2G (256M, or a\nsixteenth of the memory if less)");
    command.option(
        "--index-dir", "DIR", index_dir,
        "keep there where to start in deflated members, so\nthat the next mount is fast at "
        "once; auto: your cache");
    command.option("--threads", "N", threads,
                   "threads that answer, and that decode (by the cores)");
    command.option("--readahead", "KIB", readahead, "how far ahead the kernel reads; takes root");
    command.option("--log-file", "FILE", log_file,
                   "log to this file instead of syslog, or standard error\nin the foreground");
    command.option("--log-level", "LEVEL", log_level,
                   "trace, debug, info, warn, error, critical, off (info)");
    command.flag("-f,--foreground", foreground, "don't detach from the terminal");
    command.flag("-d,--debug", debug, "show every request; stays in the foreground");
    command.flag("-s,--single-thread", single, "answer and decode with one thread");
  }

  void apply(MountRequest& request) const {
    for (const std::string& list : lists) {
      set_options(request, list);
    }
    const std::pair<const char*, const std::string*> values[] = {
        {"views", &views},        {"cache-size", &cache_size}, {"index-dir", &index_dir},
        {"threads", &threads},    {"readahead", &readahead},   {"log-file", &log_file},
        {"log-level", &log_level}};
    for (const auto& [name, value] : values) {
      if (!value->empty()) {
        set_option(request, {name, *value, std::string("--") + name});
      }
    }
    request.foreground |= foreground;
    request.mount.debug |= debug;
    request.mount.single_threaded |= single;
  }
};

}  // namespace

int mount_verb(Words words, std::ostream& out, std::ostream& err) {
  Command command(
      "mount", "mount [OPTIONS] SOURCE MOUNTPOINT",
      "Mounts a .npz, a .npy or a directory of such read-only. Each array NAME is shown as\n"
      "NAME.npy, NAME.raw (the data in C order), NAME.u8view.npy (the data as bytes) and\n"
      "NAME.meta.json. A mount point that doesn't exist is made, and removed at unmount.\n"
      "'npyfs umount MOUNTPOINT' ends it. 'npyfs SOURCE MOUNTPOINT' does the same, as\n"
      "mount(8) calls it.");
  MountRequest request = default_request();
  command.argument("SOURCE", request.source, "an archive, a .npy file or a directory");
  command.argument("MOUNTPOINT", request.mountpoint, "an empty directory, or a name for one");
  MountWords own;
  own.add_to(command);
  ReadingOptions reading(command);
  command.footer(kMountFooter);
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", request.source);
  command.require("MOUNTPOINT", request.mountpoint);
  own.apply(request);
  const LoadOptions load = reading.options();
  request.load.split = load.split ? load.split : request.load.split;
  request.load.types.insert(request.load.types.begin(), load.types.begin(), load.types.end());
  return mount(std::move(request), err);
}

int mount_helper(Words words, std::ostream& out, std::ostream& err) {
  Command command("mount", "SOURCE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]",
                  "What mount(8) calls for a mount of type fuse.npyfs or npyfs.");
  MountRequest request = default_request();
  bool fake = false;
  bool sloppy = false;
  bool ignored_flag = false;
  std::string ignored;
  std::vector<std::string> lists;
  command.argument("SOURCE", request.source, "an archive, a .npy file or a directory");
  command.argument("MOUNTPOINT", request.mountpoint, "a directory");
  command.flag("-f", fake, "check the arguments, and mount nothing");
  command.flag("-s", sloppy, "pass over mount options that aren't known");
  command.flag("-n,-v,-r,-w", ignored_flag, "change nothing here");
  command.option("-N,-t", "TEXT", ignored, "change nothing here");
  command.repeatable("-o", "LIST", lists, "mount options");
  if (!command.parse(words, out)) {
    return 0;
  }
  command.require("SOURCE", request.source);
  command.require("MOUNTPOINT", request.mountpoint);
  for (const std::string& list : lists) {
    set_options(request, list, sloppy);
  }
  return fake ? 0 : mount(std::move(request), err);
}

}  // namespace npyfs
