// Any bytes as a key: a path that every filesystem call can take.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "npyfs/base/text.h"
#include "npyfs/tree/names.h"

namespace npyfs {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check(std::string_view key, std::optional<char> split, std::size_t most_bytes) {
  const auto components = path_components(key, split, most_bytes);
  require(!components.empty() && components.back().size() <= most_bytes);
  for (const std::string& component : components) {
    require(!component.empty() && component.size() <= kMostNameBytes);
    require(component != "." && component != ".." && !component.starts_with(".npyfs"));
    require(component.find('/') == std::string::npos && is_utf8(component));
    require(std::ranges::none_of(component, [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
  }
}

}  // namespace
}  // namespace npyfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace npyfs;
  const std::string_view key(reinterpret_cast<const char*>(data), size);
  check(key, std::nullopt, kMostStemBytes);
  check(key, '.', kMostStemBytes);
  check(key, std::nullopt, kMostNameBytes);
  require(is_utf8(escape_invalid_utf8(key)) && is_utf8(cp437_to_utf8(key)));
  require(!is_utf8(key) || escape_invalid_utf8(key) == key);
  return 0;
}
