// Reading headers, as it is done once an array before a mount: nearly all are short and simple.
#include <string>

#include <benchmark/benchmark.h>

#include "npyfs/base/bytes.h"
#include "npyfs/format/npy_header.h"
#include "npyfs/source/compose.h"

namespace npyfs {
namespace {

void parse(benchmark::State& state, const std::string& header) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_npy_header(bytes_of(header)));
  }
}

void bm_parse_simple(benchmark::State& state) {
  parse(state, write_npy_header("'<f4'", Shape{50257, 768}, false));
}
BENCHMARK(bm_parse_simple);

void bm_parse_structured(benchmark::State& state) {
  parse(state, write_npy_header("[('pos', '<f4', (3,)), ('id', '<i8'), ('name', '<U10')]",
                                Shape{1000}, false));
}
BENCHMARK(bm_parse_structured);

// Header of `range(0)` fields.
void bm_parse_many_fields(benchmark::State& state) {
  std::string descr = "[";
  for (int i = 0; i < state.range(0); ++i) {
    descr += "('field" + std::to_string(i) + "', '<f8'), ";
  }
  parse(state, write_npy_header(descr + "]", Shape{1000}, false));
}
BENCHMARK(bm_parse_many_fields)->Arg(500)->Arg(5000);

void bm_read_simple(benchmark::State& state) {
  const SourcePtr image =
      memory(write_npy_header("'<f4'", Shape{50257, 768}, false) + std::string(512, 'x'));
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_npy_header(*image));
  }
}
BENCHMARK(bm_read_simple);

void bm_write(benchmark::State& state) {
  const Shape shape = {50257, 768};
  for (auto _ : state) {
    benchmark::DoNotOptimize(write_npy_header("'|u1'", shape, false));
  }
}
BENCHMARK(bm_write);

void bm_dtype_name(benchmark::State& state) {
  const Dtype dtype = parse_descr("<f4");
  for (auto _ : state) {
    benchmark::DoNotOptimize(dtype_name(dtype));
  }
}
BENCHMARK(bm_dtype_name);

}  // namespace
}  // namespace npyfs
