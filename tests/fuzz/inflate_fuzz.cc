// Raw deflate against zlib. The first byte says how the rest is meant:
//   even  a deflate stream as it is: what zlib decodes, we decode, and if zlib reaches its end so
//   do we; odd   bytes that zlib deflates first: they come back exactly.
// Either way in pieces, and through restart points at places that the next three bytes choose.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::size_t kMostPlain = std::size_t{1} << 20;

struct Reference {
  std::vector<std::byte> plain;
  bool ended = false;    // the stream is sound up to its end
  bool too_far = false;  // it is refused for a match from before its front
};

Reference zlib_inflate(Bytes compressed) {
  Reference reference;
  reference.plain.resize(kMostPlain);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    std::abort();
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(reference.plain.data());
  stream.avail_out = static_cast<uInt>(reference.plain.size());
  reference.ended = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  reference.plain.resize(stream.total_out);
  reference.too_far = stream.msg != nullptr && std::string_view(stream.msg).ends_with("far back");
  inflateEnd(&stream);
  return reference;
}

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Decodes as zlib did, saving and resuming on the way.
void decode_like(const Reference& reference, Bytes compressed, std::mt19937& random) {
  const auto codec = inflate_codec(memory(std::vector(compressed.begin(), compressed.end())));
  auto cursor = codec->start();
  const Bytes plain = reference.plain;
  try {
    while (cursor->position() < plain.size()) {
      const std::size_t at = cursor->position();
      const std::size_t most = random() % 2 == 0 ? 40 : 100000;
      const std::size_t piece = std::min<std::size_t>(1 + random() % most, plain.size() - at);
      auto got = std::make_unique_for_overwrite<std::byte[]>(piece);
      cursor->produce({got.get(), piece});
      require(std::equal(got.get(), got.get() + piece,
                         plain.begin() + static_cast<std::ptrdiff_t>(at)));
      if (random() % 3 == 0) {
        if (const auto point = cursor->save()) {
          cursor = codec->resume(*point);
          require(cursor->position() == at + piece);
        }
      }
    }
    if (reference.too_far) {  // what ISA-L has for that match is made up
      std::byte byte{};
      cursor->produce({&byte, 1});
      std::abort();
    }
    cursor->finish();
    // ISA-L lets some streams pass that zlib refuses, but never the other way round.
  } catch (const Damage&) {
    require(!reference.ended);
  }
}

void prefix_like(const Reference& reference, Bytes compressed, std::mt19937& random) {
  std::vector<std::byte> out(random() % 300);
  try {
    const std::size_t came = inflate_prefix(compressed, out);
    const std::size_t common = std::min(came, reference.plain.size());
    require(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(common),
                       reference.plain.begin()));
    require(!reference.ended || came == std::min(out.size(), reference.plain.size()));
  } catch (const Damage&) {
    require(!reference.ended);
  }
}

void check(Bytes input) {
  const auto choice = [&](std::size_t at) { return std::to_integer<int>(input[at]); };
  std::mt19937 random(static_cast<unsigned>(choice(1) | choice(2) << 8 | choice(3) << 16));
  const Bytes rest = input.subspan(4);
  std::vector<std::byte> compressed(rest.begin(), rest.end());
  const bool is_plain = choice(0) % 2 == 1;
  if (is_plain) {
    compressed = deflate_bytes(rest, {.level = choice(0) / 2 % 10,
                                      .strategy = choice(0) / 20 % 5,
                                      .memory_level = 1 + choice(1) % 9});
  }
  const Reference reference = zlib_inflate(compressed);
  require(!is_plain || reference.ended);
  decode_like(reference, compressed, random);
  prefix_like(reference, compressed, random);
}

}  // namespace
}  // namespace npyfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= 4) {
    npyfs::check({reinterpret_cast<const std::byte*>(data), size});
  }
  return 0;
}
