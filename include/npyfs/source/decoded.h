// Compressed members with random access.
//
// A Codec can only decode forward. The Decoder, one for a mount, makes a Source of it: what was
// decoded is kept in blocks, a pass leaves restart points behind, and a read starts at the nearest
// of what is known: a cursor that an earlier read left in the right place, a restart point, or the
// front.
//
// Threads: everything here but a Cursor may be used by any thread at any time. Nothing is decoded
// while a mutex is held, and a thread that waits for another's block has nothing that anybody waits
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npyfs/base/error.h"
#include "npyfs/source/block_cache.h"
#include "npyfs/source/source.h"

namespace npyfs {

// A stream that breaks the rules of its format (EIO). It does so on every try, so the Decoder
// remembers it; any other Error of a codec (its source is stale, memory ran out) passes through and
// is forgotten.
class Damage : public Error {
 public:
  explicit Damage(const std::string& text) : Error(EIO, text) {}
};

// The text says the way out too.
template <typename... Parts>
[[noreturn]] void throw_damage(const Parts&... parts) {
  throw Damage(text_of(parts..., kFetchAgain));
}

// What a codec needs to go on from `position` in its output. `state` is the codec's own and holds
// no addresses: it can be stored and used in another process with the same codec library.
struct RestartPoint {
  std::uint64_t position = 0;
  std::vector<std::byte> state;
};

// Decodes one stream forward. Used by one thread at a time.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  virtual ~Cursor() = default;

  // How many bytes of output lie behind; after a Damage, how many of them were sound.
  virtual std::uint64_t position() const = 0;

  // Fills `dst` with what follows. Throws Damage if the stream breaks or ends before; after any
  // Error the cursor is of no more use.
  virtual void produce(std::span<std::byte> dst) = 0;

  // Throws Damage unless the stream ends at position().
  virtual void finish() = 0;

  // Null if the codec can't.
  virtual std::unique_ptr<RestartPoint> save() { return nullptr; }
};

// One compressed stream. Any thread.
class Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;

  // A cursor at position 0. Throws Damage if the stream can't even be begun.
  virtual std::unique_ptr<Cursor> start() const = 0;

  // A cursor at `point.position`, which a cursor of this stream saved. Throws Error (EIO) if
  // `point` can't be one of this codec; that its bytes are unchanged is up to the caller, but
  // whatever they are, nothing beyond the wrong output comes of them. A codec that saves none is
  // never asked.
  virtual std::unique_ptr<Cursor> resume(const RestartPoint& point) const;

  // All that restart points of this stream depend on, as a line of text: which stream it is, in
  // another process too, and how the codec's library lays out its state. Empty: they are of no use
  // beyond this process. Reads a little of the stream; throws Error like a read.
  virtual std::string restart_key() const { return {}; }
};

struct DecodeShared;
class RestartStore;

class Decoder {
 public:
  struct Options {
    std::uint64_t cache_bytes = std::uint64_t{256} << 20;  // decoded blocks; at least 4 MiB is used
    std::uint64_t restart_bytes = std::uint64_t{64} << 20;
    unsigned threads = default_threads();  // that decode ahead; with 0 only readers decode
    std::shared_ptr<const RestartStore> store = nullptr;  // keeps restart points, if there is one
  };

  struct Counts {
    std::uint64_t decoded_bytes = 0;
    std::uint64_t decoded_blocks = 0;
    std::uint64_t decoded_ahead = 0;  // blocks of those, by threads of ours
    std::uint64_t waits = 0;          // for a block that another thread was at
    std::uint64_t restarts = 0;       // from a restart point
    std::uint64_t restart_points = 0;
    std::uint64_t restart_bytes = 0;
    std::uint64_t points_loaded = 0;  // from the store
    std::uint64_t points_saved = 0;   // to it, and not there before
    std::uint64_t idle_cursors = 0;
    BlockCache::Counts cache;
  };

  // Called once for each distinct fault of a member: the stream breaks or ends early, it goes on
  // past the declared size, its CRC differs. Any thread, no mutex held. With more than 4,096 faulty
  // members one that nobody had open for long may be reported again. `was_read`: somebody got bytes
  // behind it before, when nobody could know (a CRC is compared once every block was decoded).
  using OnFault = std::function<void(std::uint64_t member_id, int errno_value,
                                     const std::string& text, bool was_read)>;

  explicit Decoder(const Options& options);
  Decoder() : Decoder(Options()) {}
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  // Stops and joins the threads, and stores the restart points that aren't. Sources may live on;
  // they then decode without the threads.
  ~Decoder();

  // One for each core but one, at most 8. They start when there is first something to decode ahead,
  // so after a fork, and leave SIGTERM, SIGINT and SIGHUP to others.
  static unsigned default_threads();

  // Stops and joins the threads, for good, before what on_fault refers to goes.
  void stop_threads();

  // Blocks of other origin may live there too.
  BlockCache& cache();

  // To be set before the first read.
  void on_fault(OnFault report);

  // A number below 2^31 that no other archive of this mount has: `archive << 32 | index` names a
  // member.
  std::uint64_t new_archive();

  // The Source of a member that decodes to `size` bytes. All opens of one `member_id` (below 2^63)
  // share what is known of it, also one after another. `make_codec` is called here or not at all;
  // what it throws passes through. The CRC, if given, is compared once every block was decoded; on
  // a difference the last block fails from then on. Throws Error (EIO) if `size` passes 2^63.
  SourcePtr open(std::uint64_t member_id, std::uint64_t size, std::optional<std::uint32_t> crc32,
                 const std::function<std::unique_ptr<Codec>()>& make_codec);

  Counts counts() const;

 private:
  std::shared_ptr<DecodeShared> shared_;
};

}  // namespace npyfs
