// Decoding codes that are in memory, in bytes of float32 a second; the argument is the Code.
#include <cstring>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "npyfs/source/widen.h"

namespace npyfs {
namespace {

class Codes final : public Source {
 public:
  explicit Codes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    std::memcpy(dst.data(), bytes_.data() + offset, dst.size());
  }

 private:
  std::vector<std::byte> bytes_;
};

void decode(benchmark::State& state) {
  std::vector<std::byte> codes(std::size_t{256} << 10);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  }
  const SourcePtr source =
      widen(std::make_shared<Codes>(std::move(codes)), static_cast<Code>(state.range(0)));
  std::vector<std::byte> values(std::size_t{128} << 10);  // what the kernel asks for at once
  std::uint64_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    source->read(at, values);
    at = (at + values.size()) % source->size();
    benchmark::DoNotOptimize(values.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}

void types(benchmark::internal::Benchmark* benchmark) {
  for (const Code code : {Code::kBfloat16, Code::kBfloat16Big, Code::kFloat16, Code::kFloat8E4m3fn,
                          Code::kFloat8E5m2, Code::kInt4, Code::kFloat4E2m1fnPacked}) {
    benchmark->Arg(static_cast<int>(code));
  }
}

BENCHMARK(decode)->Apply(types);

}  // namespace
}  // namespace npyfs
