#include "source/forward_readers.h"

#include <algorithm>

namespace npyfs {

bool ForwardReaders::goes_forward(std::uint64_t first, std::uint64_t last) {
  // A block is read in several requests, and these come a little out of order.
  const auto known = std::ranges::find_if(readers_, [&](const Reader& reader) {
    return reader.next > 0 && first + 2 >= reader.next && first <= reader.next + 1;
  });
  if (known != readers_.end()) {
    known->moved_on = known->moved_on || last >= known->next;
    known->next = std::max(known->next, last + 1);
    known->last_use = ++uses_;
    return known->moved_on;
  }
  const bool is_long = last - first >= 2;
  *std::ranges::min_element(readers_, {}, &Reader::last_use) = {last + 1, is_long, ++uses_};
  return is_long;
}

}  // namespace npyfs
