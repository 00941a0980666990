// A sequential read of the C-order bytes of an array in a warm file whose axes are stored in
// another order, beside a plain read of that file. Arguments of `transposed`: rows, columns, bytes
// an element.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <unistd.h>

#include <benchmark/benchmark.h>

#include "npyfs/source/compose.h"
#include "npyfs/source/file.h"
#include "npyfs/source/transpose.h"

namespace npyfs {
namespace {

// A file of noise in the page cache, gone when the program ends.
class WarmFile {
 public:
  WarmFile() {
    fd_ = Fd(mkstemp(path_.data()));
    std::vector<std::uint32_t> piece(std::size_t{1} << 20);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      piece[i] = static_cast<std::uint32_t>(i * 2654435761U);
    }
    for (std::uint64_t written = 0; written < kSize; written += piece.size() * 4) {
      if (write(fd_.get(), piece.data(), piece.size() * 4) < 0) {
        std::abort();
      }
    }
    file_ = File::open(path_);
  }
  ~WarmFile() { unlink(path_.c_str()); }

  SourcePtr first(std::uint64_t size) const { return slice(file_, 0, size); }

  static constexpr std::uint64_t kSize = std::uint64_t{1} << 30;

 private:
  std::string path_ = "/tmp/npyfs_transpose_bench.XXXXXX";
  Fd fd_;
  SourcePtr file_;
};

const WarmFile& warm_file() {
  static const WarmFile file;
  return file;
}

void read_all(const Source& source, std::vector<std::byte>& buffer) {
  for (std::uint64_t at = 0; at < source.size(); at += buffer.size()) {
    const std::uint64_t length = std::min<std::uint64_t>(buffer.size(), source.size() - at);
    source.read(at, std::span(buffer).first(length));
  }
}

void plain(benchmark::State& state) {
  const SourcePtr source = warm_file().first(std::uint64_t{256} << 20);
  std::vector<std::byte> buffer(std::size_t{128} << 10);
  for ([[maybe_unused]] auto _ : state) {
    read_all(*source, buffer);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(source->size()));
}

void transposed(benchmark::State& state) {
  const auto rows = static_cast<std::uint64_t>(state.range(0));
  const auto columns = static_cast<std::uint64_t>(state.range(1));
  const auto itemsize = static_cast<std::uint64_t>(state.range(2));
  const SourcePtr stored = warm_file().first(rows * columns * itemsize);
  const auto cache = std::make_shared<BlockCache>(std::uint64_t{256} << 20);
  std::vector<std::byte> buffer(std::size_t{128} << 10);
  for ([[maybe_unused]] auto _ : state) {
    read_all(*c_order(stored, {rows, columns}, itemsize, cache, cache->new_objects()), buffer);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(stored->size()));
}

// `stored`: the shape in the file, of which `axes` are put in order.
void permuted(benchmark::State& state, const std::vector<std::uint64_t>& stored,
              const std::vector<std::size_t>& axes, std::uint64_t itemsize) {
  const std::uint64_t size =
      std::accumulate(stored.begin(), stored.end(), itemsize, std::multiplies<>());
  const SourcePtr data = warm_file().first(size);
  std::vector<std::uint64_t> shape;
  std::ranges::transform(axes, std::back_inserter(shape), [&](std::size_t i) { return stored[i]; });
  const auto cache = std::make_shared<BlockCache>(std::uint64_t{256} << 20);
  std::vector<std::byte> buffer(std::size_t{128} << 10);
  for ([[maybe_unused]] auto _ : state) {
    read_all(*c_order(data, shape, axes, itemsize, cache, cache->new_objects()), buffer);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void random_page(benchmark::State& state) {
  const std::uint64_t rows = 50257;
  const std::uint64_t columns = 768;
  const SourcePtr stored = warm_file().first(rows * columns * 4);
  const auto cache = std::make_shared<BlockCache>(std::uint64_t{256} << 20);
  const SourcePtr source = c_order(stored, {rows, columns}, 4, cache, cache->new_objects());
  std::vector<std::byte> buffer(4096);
  std::uint64_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    at = (at * 6364136223846793005 + 1442695040888963407) % (source->size() / 4096);
    source->read(at * 4096, buffer);
  }
}

BENCHMARK(plain)->Unit(benchmark::kMillisecond);
BENCHMARK(transposed)
    ->Unit(benchmark::kMillisecond)
    ->Args({50257, 768, 4})
    ->Args({768, 50257, 4})
    ->Args({4096, 4096, 4})
    ->Args({4096, 16384, 2})
    ->Args({8192, 16384, 1})
    ->Args({4096, 4096, 8})
    ->Args({4096, 4096, 16})
    ->Args({4096, 16384, 12})
    ->Args({30000000, 3, 4})
    ->Args({4000, 65536, 4});
using Shape = std::vector<std::uint64_t>;
using Axes = std::vector<std::size_t>;
BENCHMARK_CAPTURE(permuted, channels_first, Shape{256, 256, 256, 3}, Axes{0, 3, 1, 2}, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permuted, channels_last, Shape{128, 3, 256, 256}, Axes{0, 2, 3, 1}, 4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permuted, heads, Shape{16, 1024, 16, 64}, Axes{0, 2, 1, 3}, 4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permuted, wide_rows, Shape{12, 2048, 2048}, Axes{1, 0, 2}, 4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permuted, matrices, Shape{64, 1024, 768}, Axes{0, 2, 1}, 4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permuted, layers_last, Shape{12, 2048, 768}, Axes{1, 2, 0}, 4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(permuted, scattered, Shape{40, 200, 30, 200}, Axes{1, 3, 0, 2}, 4)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(random_page)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace npyfs
