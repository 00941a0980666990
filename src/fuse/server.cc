#include "fuse/server.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

// stdio and Python's buffered files read in pieces of st_blksize.
constexpr blksize_t kBlockSize = 128 << 10;

// The kernel reads ahead on behalf of nobody: when the reader is killed, no interrupt comes for
// what it asked for. But the request still says which thread it was. Should anybody else wait for
// the same pages, the kernel asks again for them. 0 is a thread of another PID namespace.
bool is_gone(pid_t thread) { return thread > 0 && ::kill(thread, 0) != 0 && errno == ESRCH; }

}  // namespace

Server::Server(Catalog catalog, const std::shared_ptr<Decoder>& decoder,
               const MountOptions& options, std::function<void()> ready)
    : decoder_(decoder),
      tree_(std::move(catalog), decoder, options.listed,
            [this, decoder, source = options.source,
             identity =
                 [&] {
                   struct stat status = {};
                   ::stat(options.source.c_str(), &status);
                   return identity_of(status);
                 }()] {
              return statistics_json(statistics_, handles_.count(), *decoder, source, identity);
            }),
      uid_(options.uid.value_or(::getuid())),
      gid_(options.gid.value_or(::getgid())),
      umask_(options.umask),
      ready_(std::move(ready)) {
  count_volume();
  report_decoder_faults();
}

void Server::count_volume() {
  const Catalog& catalog = tree_.catalog();
  std::uint64_t bytes = 0;
  for (ItemId i = 1; i < catalog.count(); ++i) {
    if (catalog.kind(i) != ItemKind::kDirectory) {
      bytes += catalog.store(i).size(catalog.store_index(i));
    }
  }
  volume_.f_bsize = 4096;
  volume_.f_frsize = 4096;
  volume_.f_blocks = bytes / 4096 + 1;
  volume_.f_files = catalog.count();
  volume_.f_namemax = kMostNameBytes;
}

void Server::report_decoder_faults() {
  decoder_->on_fault(
      [this](std::uint64_t member_id, int errno_value, const std::string& text, bool was_read) {
        const std::string place = tree_.catalog().place_of_member(member_id);
        const std::string what = place + ": " + text;
        if (was_read && stale_pages_ != nullptr) {
          damaged_members_.add(member_id);
          stale_pages_->damaged(member_id);
        }
        if (tree_.faults().add({place, what, errno_value})) {
          spdlog::error("{}", what);
        }
      });
}

struct stat Server::attributes_of(const Tree::Attributes& node) const {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  struct stat status = {};
  status.st_ino = node.inode;
  status.st_mode = node.is_directory ? S_IFDIR | (0755 & ~umask_) : S_IFREG | (0644 & ~umask_);
  status.st_nlink = 1;  // of a directory: it doesn't say how many subdirectories there are
  status.st_uid = uid_;
  status.st_gid = gid_;
  status.st_size = static_cast<off_t>(node.size);
  status.st_blksize = kBlockSize;
  status.st_blocks = static_cast<blkcnt_t>((node.size + 511) / 512);
  std::int64_t nanoseconds = node.mtime_ns % kNanoseconds;
  nanoseconds += nanoseconds < 0 ? kNanoseconds : 0;
  status.st_mtim.tv_sec = (node.mtime_ns - nanoseconds) / kNanoseconds;
  status.st_mtim.tv_nsec = nanoseconds;
  status.st_atim = status.st_mtim;
  status.st_ctim = status.st_mtim;
  return status;
}

void Server::start(fuse_session* session) {
  session_ = session;
  const unsigned of_a_file = std::clamp(std::thread::hardware_concurrency(), 2u, 8u);
  try {
    stale_pages_ = std::make_unique<StalePages>(
        tree_, [session](Inode inode) { fuse_lowlevel_notify_inval_inode(session, inode, 0, 0); });
    long_reads_ = std::make_unique<LongReads>(of_a_file);
  } catch (const std::system_error& e) {
    stale_pages_.reset();  // a plain user's unmount takes a process, which counts like a thread
    throw Error(e.code().value(), text_of(of_a_file + 2, " threads can't be started: ",
                                          e.code().message(), "; ", kHowToHaveThreads));
  }
}

void Server::stop() {
  stopping_ = true;  // libfuse's own flag is down again once its loop has returned
  long_reads_.reset();
  decoder_->stop_threads();  // they report faults
  stale_pages_.reset();
}

bool Server::cancelled(fuse_req_t req) const {
  return stopping_ || fuse_session_exited(session_) != 0 || fuse_req_interrupted(req) != 0 ||
         is_gone(fuse_req_ctx(req)->pid);
}

void Server::failed(Inode inode, const std::string& what, int errno_value) {
  if (errno_value == EINTR || errno_value == ENOENT) {
    return;  // nothing is wrong: the reader went away, or asked for what isn't there
  }
  statistics_.failed.fetch_add(1, std::memory_order_relaxed);
  if (errno_value == ESTALE) {
    stale_pages_->look();
  }
  std::string place;
  try {
    place = tree_.place(inode);
  } catch (const Error&) {
    place = "inode " + std::to_string(inode);
  }
  const std::string text = what.starts_with(place) ? what : place + ": " + what;
  if (tree_.faults().add({place, text, errno_value})) {
    spdlog::error("{}", text);
  }
}

}  // namespace npyfs
