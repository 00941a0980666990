// Any text as an entry of an index, and any bytes as the element that holds it: the paths that are
// tried never lead out of the directory.
//
// The input's first byte chooses what the rest is: key and path with a newline between, or an
// element.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "npyfs/base/error.h"
#include "npyfs/base/text.h"
#include "npyfs/format/shard_index.h"

namespace npyfs {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_candidate(std::string_view candidate) {
  require(!candidate.empty() && candidate.find('\0') == std::string_view::npos);
  while (!candidate.empty()) {
    const std::size_t end = std::min(candidate.find('/'), candidate.size());
    const std::string_view component = candidate.substr(0, end);
    require(!component.empty() && component != "." && component != "..");
    candidate.remove_prefix(std::min(end + 1, candidate.size()));
  }
}

void check_entry(std::string_view text) {
  const std::size_t newline = std::min(text.find('\n'), text.size());
  const ShardEntry entry = {.key = std::string(text.substr(0, newline)),
                            .path = std::string(text.substr(std::min(newline + 1, text.size()))),
                            .member = 0};
  for (const std::string_view directory : {"/data/model", "/", ""}) {
    for (const std::string& candidate : shard_candidates(entry, directory)) {
      check_candidate(candidate);
    }
  }
}

void check_element(Bytes element) {
  for (const bool swapped : {false, true}) {
    try {
      require(is_utf8(element_text(element, DtypeKind::kText, swapped)));
    } catch (const Error&) {
    }
  }
  require(element_text(element, DtypeKind::kBytes, false).size() <= element.size());
}

}  // namespace
}  // namespace npyfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace npyfs;
  if (size == 0 || size > kMostShardPath) {
    return 0;
  }
  const Bytes rest = Bytes(reinterpret_cast<const std::byte*>(data), size).subspan(1);
  if (data[0] == 'e') {
    check_element(rest);
  } else {
    check_entry(text_view(rest));
  }
  return 0;
}
