// What the mount has done so far, as stats.json shows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "npyfs/source/decoded.h"
#include "npyfs/source/file.h"

namespace npyfs {

// Counted by any thread.
struct Statistics {
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> reads = 0;
  std::atomic<std::uint64_t> bytes = 0;          // sent in reads
  std::atomic<std::uint64_t> queued_reads = 0;   // that took long
  std::atomic<std::uint64_t> waiting_reads = 0;  // of those, not yet answered
  std::atomic<std::uint64_t> passthrough_opens = 0;
  std::atomic<std::uint64_t> failed = 0;
};

// The text of stats.json. `source` is the path given to mount, `identity` what it led to then.
std::string statistics_json(const Statistics& statistics, std::size_t open_handles,
                            const Decoder& decoder, const std::string& source,
                            const FileIdentity& identity);

}  // namespace npyfs
