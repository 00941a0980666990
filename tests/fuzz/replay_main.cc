// A main for a fuzz target that is linked with no fuzzing engine: runs each file given, and each
// file in the directories given, once. So every compiler and sanitizer replays what fuzzing ever
// found.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) {
    throw std::filesystem::filesystem_error("cannot read", path,
                                            std::make_error_code(std::errc::io_error));
  }
  // A copy of exactly this size, so that a sanitizer sees a read one past the end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  std::cerr << path.filename().string() << " (" << bytes.size() << " bytes)" << std::endl;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::size_t replay_all(const std::filesystem::path& place) {
  if (!std::filesystem::is_directory(place)) {
    replay(place);
    return 1;
  }
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
    if (entry.is_regular_file()) {
      replay(entry.path());
      ++count;
    }
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  try {
    for (int i = 1; i < argc; ++i) {
      count += replay_all(argv[i]);
    }
  } catch (const std::filesystem::filesystem_error& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
  std::cout << count << " inputs replayed\n";
  // An empty or misnamed corpus would pass for ever.
  return count == 0 ? 1 : 0;
}
