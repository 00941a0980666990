#include "npyfs/format/pickle.h"

#include <bit>
#include <cassert>
#include <cstring>

#include "npyfs/base/error.h"

#include "format/pickle_machine.h"

namespace npyfs {

double Pickle::real(PickleId id) const { return std::bit_cast<double>(values_[id].first); }

std::span<const PickleId> Pickle::items(PickleId id) const {
  return std::span(items_).subspan(values_[id].first, values_[id].second);
}

PickleRange Pickle::range(PickleId id) const {
  return {values_[id].first, values_[id].second, values_[id].form};
}

std::string_view Pickle::copy_at(std::uint32_t begin) const {
  std::uint32_t length = 0;
  std::memcpy(&length, copies_.data() + begin, sizeof(length));
  return std::string_view(copies_).substr(begin + sizeof(length), length);
}

std::optional<std::string_view> Pickle::text(PickleId id) const {
  const Value& value = values_[id];
  if (value.text == kNoCopy || value.kind == PickleKind::kGlobal) {
    return std::nullopt;
  }
  return copy_at(value.text);
}

bool Pickle::is_global(PickleId id, std::string_view wanted_module,
                       std::string_view wanted_name) const {
  return id != kNoPickle && kind(id) == PickleKind::kGlobal && module(id) == wanted_module &&
         name(id) == wanted_name;
}

Pickle read_pickle(const Source& source, std::uint64_t offset, std::uint64_t end) {
  if (offset > end || end > source.size()) {
    throw_corrupt("a pickle from ", offset, " to ", end, " isn't within ", source.size(), " bytes");
  }
  return PickleMachine(source, offset, end).run();
}

}  // namespace npyfs
