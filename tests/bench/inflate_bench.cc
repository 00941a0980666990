// Deflated members: what the way through a Source costs over ISA-L itself, one core, and what a
// random read costs once a pass has left restart points.
//
//   Raw/…        isal_inflate into one buffer, 256 KiB at a time
//   Forward/…    the same member through a Source, 128 KiB at a time, in 16 MiB of cache, CRC
//   checked Filling/…    the same while the cache is still growing Again/…      a second pass over
//   it, cached Random/…     4 KiB reads at random, 4 MiB of cache for 64 MiB Prefix       the first
//   128 bytes of a member, as headers are read
#include <map>
#include <memory>
#include <random>

#include <benchmark/benchmark.h>
#include <isa-l/igzip_lib.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/inflate.h"

#include "support/deflate_bytes.h"

namespace npyfs {
namespace {

constexpr std::size_t kSize = std::size_t{64} << 20;
constexpr std::uint64_t kSmallCache = std::uint64_t{16} << 20;
constexpr std::uint64_t kLargeCache = std::uint64_t{128} << 20;
constexpr std::size_t kBlock = BlockCache::kBlockSize;

enum Kind { kWeights, kTokens, kSparse, kNoise };

std::vector<std::byte> token_bytes(std::size_t size) {
  std::mt19937 random(1);
  std::geometric_distribution<std::uint32_t> rank(0.002);
  std::vector<std::byte> bytes(size);
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= size; at += sizeof(std::uint32_t)) {
    const std::uint32_t token = rank(random);
    std::memcpy(&bytes[at], &token, sizeof token);
  }
  return bytes;
}

struct Member {
  std::vector<std::byte> compressed;
  std::uint32_t crc32;
};

const Member& member(Kind kind) {
  static std::map<Kind, Member> made;
  if (!made.contains(kind)) {
    const auto plain = kind == kWeights  ? weight_bytes(kSize)
                       : kind == kTokens ? token_bytes(kSize)
                       : kind == kSparse ? sparse_bytes(kSize)
                                         : noise_bytes(kSize);
    made[kind] = {deflate_bytes(plain), crc32_of(plain)};
  }
  return made[kind];
}

SourcePtr open(Decoder& decoder, const Member& of, const SourcePtr& compressed,
               std::uint64_t id = 1) {
  return decoder.open(id, kSize, of.crc32, [&] { return inflate_codec(compressed); });
}

void raw(benchmark::State& state, Kind kind) {
  const Member& of = member(kind);
  const auto out = std::make_unique<std::byte[]>(kBlock);
  const auto inflater = std::make_unique<inflate_state>();
  for (auto _ : state) {
    isal_inflate_init(inflater.get());
    std::size_t in_used = 0;
    for (std::size_t produced = 0; produced < kSize;) {
      if (inflater->avail_in == 0) {
        const std::size_t piece = std::min(kBlock, of.compressed.size() - in_used);
        inflater->next_in =
            reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(&of.compressed[in_used]));
        inflater->avail_in = static_cast<std::uint32_t>(piece);
        in_used += piece;
      }
      inflater->next_out = reinterpret_cast<std::uint8_t*>(out.get());
      inflater->avail_out = kBlock;
      isal_inflate(inflater.get());
      produced += kBlock - inflater->avail_out;
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kSize));
}

void read_through(const Source& source, std::vector<std::byte>& buffer) {
  for (std::uint64_t at = 0; at < kSize; at += buffer.size()) {
    Gather gather(buffer.size());
    source.gather(at, buffer.size(), gather);
    benchmark::DoNotOptimize(gather.spans().data());
  }
}

void forward(benchmark::State& state, Kind kind) {
  const Member& of = member(kind);
  const SourcePtr compressed = memory(of.compressed);
  std::vector<std::byte> buffer(128 << 10);
  Decoder decoder({.cache_bytes = kSmallCache, .threads = 0});
  std::uint64_t id = 0;
  for (auto _ : state) {
    read_through(*open(decoder, of, compressed, ++id), buffer);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kSize));
}

void filling(benchmark::State& state) {
  const Member& of = member(kWeights);
  const SourcePtr compressed = memory(of.compressed);
  std::vector<std::byte> buffer(128 << 10);
  for (auto _ : state) {
    Decoder decoder({.cache_bytes = kLargeCache, .threads = 0});
    read_through(*open(decoder, of, compressed), buffer);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kSize));
}

void again(benchmark::State& state) {
  const Member& of = member(kWeights);
  Decoder decoder({.cache_bytes = kLargeCache, .threads = 0});
  const SourcePtr source = open(decoder, of, memory(of.compressed));
  std::vector<std::byte> buffer(128 << 10);
  read_through(*source, buffer);
  for (auto _ : state) {
    read_through(*source, buffer);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kSize));
}

void random_reads(benchmark::State& state, Kind kind) {
  const Member& of = member(kind);
  Decoder decoder({.cache_bytes = 4 << 20, .threads = 0});
  const SourcePtr source = open(decoder, of, memory(of.compressed));
  std::vector<std::byte> buffer(128 << 10);
  read_through(*source, buffer);
  std::mt19937 random(1);
  for (auto _ : state) {
    source->read(random() % (kSize / 4096) * 4096, std::span(buffer).first(4096));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

void small_members(benchmark::State& state) {
  const auto plain = weight_bytes(static_cast<std::size_t>(state.range(0)));
  const SourcePtr compressed = memory(deflate_bytes(plain));
  const std::uint32_t crc32 = crc32_of(plain);
  Decoder decoder({.cache_bytes = kSmallCache, .threads = 0});
  std::vector<std::byte> buffer(plain.size());
  std::uint64_t id = 0;
  for (auto _ : state) {
    const SourcePtr source =
        decoder.open(++id, plain.size(), crc32, [&] { return inflate_codec(compressed); });
    source->read(0, buffer);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void prefix(benchmark::State& state) {
  std::string header = "\x93NUMPY\x01";
  header +=
      std::string("\0v\0", 3) + "{'descr': '<f4', 'fortran_order': False, 'shape': (512, 512), }";
  header.resize(127, ' ');
  std::vector<std::byte> plain = weight_bytes(1 << 20);
  std::ranges::copy(bytes_of(header + "\n"), plain.begin());
  const auto compressed = deflate_bytes(plain);
  std::vector<std::byte> out(128);
  for (auto _ : state) {
    benchmark::DoNotOptimize(inflate_prefix(Bytes(compressed).first(512), out));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

const auto kMilliseconds = benchmark::kMillisecond;
BENCHMARK_CAPTURE(raw, weights, kWeights)->Name("Raw/weights")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(forward, weights, kWeights)->Name("Forward/weights")->Unit(kMilliseconds);
BENCHMARK(filling)->Name("Filling/weights")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(raw, tokens, kTokens)->Name("Raw/tokens")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(forward, tokens, kTokens)->Name("Forward/tokens")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(raw, sparse, kSparse)->Name("Raw/sparse")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(forward, sparse, kSparse)->Name("Forward/sparse")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(raw, noise, kNoise)->Name("Raw/noise")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(forward, noise, kNoise)->Name("Forward/noise")->Unit(kMilliseconds);
BENCHMARK(again)->Name("Again/weights")->Unit(kMilliseconds);
BENCHMARK_CAPTURE(random_reads, weights, kWeights)
    ->Name("Random/weights")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(random_reads, tokens, kTokens)
    ->Name("Random/tokens")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(random_reads, sparse, kSparse)
    ->Name("Random/sparse")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(small_members)
    ->Name("SmallMember")
    ->Arg(4000)
    ->Arg(100000)
    ->Arg(1 << 20)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(prefix)->Name("Prefix")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace npyfs
