// The one idea: every file npyfs shows is a name and a Source, immutable bytes with random access.
//
// A Source has two reads. `read` copies, by checked pread or a decoder, and is what parsers and
// decoders use. `gather` is what a FUSE reply uses: it lends memory that already exists (a mapping,
// a decoded block) and copies only where there is none. Any thread may call either at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "npyfs/base/bytes.h"
#include "npyfs/source/gather.h"

namespace npyfs {

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  virtual std::uint64_t size() const = 0;

  // Fills `dst` from `offset`. Precondition: offset + dst.size() <= size(). Throws Error if the
  // bytes can't be had or the work was cancelled (cancel.h); `dst` is then unspecified.
  virtual void read(std::uint64_t offset, std::span<std::byte> dst) const = 0;

  // Appends exactly `length` bytes from `offset` to `out`. Precondition: offset + length <= size().
  // Throws Error like `read`; `out` is then of no use. This default reads into scratch of `out`.
  virtual void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const;

  // False if this range takes long: more than one block to decode. Such a read goes to a queue, so
  // that it doesn't hold one of the few threads that answer the kernel. A hint, never wrong to
  // ignore.
  virtual bool at_hand(std::uint64_t offset, std::uint64_t length) const;
};

using SourcePtr = std::shared_ptr<const Source>;

// The bytes [offset, offset + length) in a vector of their own. Throws Error (EIO) if they aren't
// all inside the source; the caller has checked that `length` is a size it wants to allocate.
std::vector<std::byte> read_bytes(const Source& source, std::uint64_t offset, std::size_t length);

}  // namespace npyfs
