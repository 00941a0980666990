#include "fuse/statistics.h"

#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace npyfs {
namespace {

// True once the path leads to another file than the one mounted, or to none.
bool is_replaced(const std::string& source, const FileIdentity& identity) {
  struct stat status = {};
  return ::stat(source.c_str(), &status) != 0 || status.st_dev != identity.device ||
         status.st_ino != identity.inode;
}

}  // namespace

std::string statistics_json(const Statistics& statistics, std::size_t open_handles,
                            const Decoder& decoder, const std::string& source,
                            const FileIdentity& identity) {
  std::string text = "{";
  const auto add = [&](std::string_view key, auto value) {
    text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", key, value);
  };
  const Decoder::Counts decoded = decoder.counts();
  add("pid", ::getpid());
  add("requests", statistics.requests.load());
  add("reads", statistics.reads.load());
  add("bytes", statistics.bytes.load());
  add("queued_reads", statistics.queued_reads.load());
  add("waiting_reads", statistics.waiting_reads.load());
  add("passthrough_opens", statistics.passthrough_opens.load());
  add("failed", statistics.failed.load());
  add("open_handles", open_handles);
  add("source_reads", file_reads());
  add("cache_hits", decoded.cache.hits);
  add("cache_misses", decoded.cache.misses);
  add("cache_bytes", decoded.cache.bytes);
  add("cache_evicted", decoded.cache.evicted);
  add("decoded_bytes", decoded.decoded_bytes);
  add("decoded_blocks", decoded.decoded_blocks);
  add("decoded_ahead", decoded.decoded_ahead);
  add("decode_waits", decoded.waits);
  add("restarts", decoded.restarts);
  add("restart_points", decoded.restart_points);
  add("restart_bytes", decoded.restart_bytes);
  add("index_points_loaded", decoded.points_loaded);
  add("index_points_saved", decoded.points_saved);
  add("replaced", is_replaced(source, identity));
  return text + "\n}\n";
}

}  // namespace npyfs
