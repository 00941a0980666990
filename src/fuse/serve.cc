#include "npyfs/fuse/serve.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "npyfs/base/error.h"
#include "npyfs/base/fd.h"

#include "fuse/end_signals.h"
#include "fuse/fuse_api.h"
#include "fuse/operations.h"
#include "fuse/server.h"

namespace npyfs {
namespace {

struct LoopConfigCloser {
  void operator()(fuse_loop_config* config) const { fuse_loop_cfg_destroy(config); }
};
using LoopConfig = std::unique_ptr<fuse_loop_config, LoopConfigCloser>;

// Arguments for libfuse, which may replace them.
class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      fuse_opt_add_arg(&args_, word.c_str());
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() { fuse_opt_free_args(&args_); }
  fuse_args* get() { return &args_; }

 private:
  fuse_args args_ = FUSE_ARGS_INIT(0, nullptr);
};

// A session that unmounts when it goes.
class Session {
 public:
  Session(const MountOptions& options, Server& server)
      : arguments_(words(options)),
        session_(
            fuse_session_new(arguments_.get(), &operations(), sizeof(fuse_lowlevel_ops), &server)) {
    if (session_ == nullptr) {
      throw_error(EINVAL, "libfuse refuses the mount options");
    }
    ::signal(SIGPIPE, SIG_IGN);  // a log that nobody reads any more
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (mounted_) {
      fuse_session_unmount(session_);
    }
    fuse_session_destroy(session_);
  }

  fuse_session* get() const { return session_; }

  void mount(const std::string& mountpoint) {
    if (fuse_session_mount(session_, mountpoint.c_str()) != 0) {
      throw_error(EIO, mountpoint +
                           ": can't be mounted on; see the line above for the reason, and "
                           "'npyfs extract' for a way that needs no FUSE");
    }
    mounted_ = true;
  }

  // Negative if it failed; -EINTR if it was ended.
  int loop(const MountOptions& options) {
    if (options.single_threaded) {
      return fuse_session_loop(session_);
    }
    const LoopConfig config(fuse_loop_cfg_create());
    const unsigned cores = std::thread::hardware_concurrency();
    const unsigned threads = options.threads != 0 ? options.threads : std::clamp(cores, 4u, 16u);
    fuse_loop_cfg_set_max_threads(config.get(), threads);
    return fuse_session_loop_mt(session_, config.get());
  }

 private:
  static std::vector<std::string> words(const MountOptions& options) {
    std::string name;
    for (const char c : options.source) {
      name += c == ',' || c == '\\' ? "\\" : "";
      name += c;
    }
    std::vector<std::string> words = {"npyfs", "-oro", "-osubtype=npyfs", "-ofsname=" + name};
    for (const std::string& option : options.kernel_options) {
      words.push_back("-o" + option);
    }
    if (options.debug) {
      words.emplace_back("-d");
    }
    return words;
  }

  Arguments arguments_;
  fuse_session* session_;
  bool mounted_ = false;
};

// The kernel's own is 128 KiB. Twice that reads a fifth faster, a mapping summed up a quarter;
// 1,000 rows of 16 KiB through mmap at random take 0.11 s for 0.08.
constexpr unsigned kReadaheadKib = 256;

// How far ahead the kernel reads is a property of the mount's backing device, which root may set.
// Waits until the mount answers: before, the kernel would overwrite it. `below`: the device that
// the mount point is on, and is seen again if the mount has ended by now. Returns what to say if it
// was asked for and can't be had.
std::string set_readahead(const MountOptions& options, dev_t below) {
  struct stat status = {};
  if (::stat(options.mountpoint.c_str(), &status) != 0 || status.st_dev == below) {
    return "";
  }
  const std::string path = "/sys/class/bdi/" + std::to_string(major(status.st_dev)) + ":" +
                           std::to_string(minor(status.st_dev)) + "/read_ahead_kb";
  const std::string value = std::to_string(options.readahead_kib.value_or(kReadaheadKib));
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool written = file.valid() && ::write(file.get(), value.data(), value.size()) > 0;
  if (written || !options.readahead_kib) {
    return "";
  }
  return text_of("--readahead ", value, ": ", path, ": ", ::strerrordesc_np(errno),
                 ", so the kernel's own holds; mount as root to set it");
}

}  // namespace

void serve(Catalog catalog, const std::shared_ptr<Decoder>& decoder, const MountOptions& options,
           const std::function<void(const std::string& warning)>& ready) {
  const EndSignals signals;
  struct stat below = {};
  ::stat(options.mountpoint.c_str(), &below);
  std::atomic<bool> answered = false;
  std::jthread starter;  // asks the mount itself, so it can't be a thread that answers
  Server server(std::move(catalog), decoder, options, [&] {
    answered = true;
    try {
      starter = std::jthread([&] { ready(set_readahead(options, below.st_dev)); });
    } catch (const std::system_error& e) {
      ready(options.readahead_kib
                ? text_of("--readahead: ", e.code().message(), "; ", kHowToHaveThreads)
                : "");
    }
  });
  {
    Session session(options, server);
    session.mount(options.mountpoint);
    server.start(session.get());
    int result = -EAGAIN;
    try {
      signals.run([&] { result = session.loop(options); },
                  [&] { fuse_session_exit(session.get()); });
    } catch (const std::system_error&) {
      // It has no thread to take the signals.
    }
    server.stop();
    if (result < 0 && result != -EINTR && !answered) {
      throw Error(EAGAIN, text_of("no thread that answers can be started; ", kHowToHaveThreads));
    }
  }
}

std::string libfuse_version() { return fuse_pkgversion(); }

}  // namespace npyfs
