// What the kernel asks a mount for all the time: a name, its attributes, a listing. An archive of
// so many arrays, each with the views beside it; what one question takes must not depend on how
// many there are.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "npyfs/format/npy_header.h"

#include "support/loaded_tree.h"
#include "support/npz_builder.h"
#include "support/temp_dir.h"

namespace npyfs {
namespace {

constexpr std::int64_t kFew = 100;
constexpr std::int64_t kMany = 100'000;

std::string name_of(std::int64_t i) { return "model.layers." + std::to_string(i) + ".weight"; }

// Made once for each count.
const LoadedTree& tree_of(std::int64_t count) {
  static std::vector<std::pair<std::int64_t, std::unique_ptr<LoadedTree>>> made;
  for (const auto& [known, tree] : made) {
    if (known == count) {
      return *tree;
    }
  }
  const TempDir directory;
  NpzBuilder archive;
  const std::string image = write_npy_header("'<f4'", Shape{1}, false) + "abcd";
  for (std::int64_t i = 0; i < count; ++i) {
    archive.stored(name_of(i) + ".npy", bytes_of(image));
  }
  const std::string path = directory.write("a.npz", archive.bytes());
  made.emplace_back(count, std::make_unique<LoadedTree>(path));
  return *made.back().second;
}

void lookup(benchmark::State& state, const char* suffix) {
  const Tree& tree = tree_of(state.range(0)).tree();
  std::int64_t i = 0;
  for (auto _ : state) {
    i = (i + 7919) % state.range(0);
    benchmark::DoNotOptimize(tree.lookup(Tree::kRoot, name_of(i) + suffix));
  }
}
BENCHMARK_CAPTURE(lookup, array, ".npy")->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(lookup, view, ".u8view.npy")->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(lookup, nothing, ".txt")->Arg(kFew)->Arg(kMany);

void attributes(benchmark::State& state) {
  const LoadedTree& loaded = tree_of(state.range(0));
  const Inode inode = loaded.at(name_of(state.range(0) / 2) + ".npy");
  for (auto _ : state) {
    benchmark::DoNotOptimize(loaded.tree().attributes(inode));
  }
}
BENCHMARK(attributes)->Arg(kFew)->Arg(kMany);

// A page of a listing, 100 entries from the middle on.
void listing(benchmark::State& state) {
  const Tree& tree = tree_of(state.range(0)).tree();
  for (auto _ : state) {
    int entries = 0;
    tree.list(Tree::kRoot, static_cast<std::uint64_t>(state.range(0)),
              [&](const Tree::Entry& entry) {
                Inode inode = entry.inode;
                benchmark::DoNotOptimize(inode);
                return ++entries < 100;
              });
  }
}
BENCHMARK(listing)->Arg(kFew)->Arg(kMany);

}  // namespace
}  // namespace npyfs
