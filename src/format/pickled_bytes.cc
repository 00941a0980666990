#include "format/pickled_bytes.h"

namespace npyfs {
namespace {

bool is_bytes_class(const Pickle& pickle, PickleId callable) {
  return pickle.is_global(callable, "builtins", "bytes") ||
         pickle.is_global(callable, "builtins", "bytearray") ||
         pickle.is_global(callable, "__builtin__", "bytes") ||
         pickle.is_global(callable, "__builtin__", "bytearray");
}

// The value that holds the bytes or their text: `id` itself, or an argument of the call that it is.
// kNoPickle if there is none.
PickleId holder_of(const Pickle& pickle, PickleId id) {
  const PickleKind kind = pickle.kind(id);
  if (kind == PickleKind::kBytes || kind == PickleKind::kByteString) {
    return id;
  }
  if (kind != PickleKind::kCall || pickle.kind(pickle.call(id).arguments) != PickleKind::kTuple) {
    return kNoPickle;
  }
  const PickleCall& call = pickle.call(id);
  const auto arguments = pickle.items(call.arguments);
  const bool makes_bytes = is_bytes_class(pickle, call.callable);
  if (makes_bytes && arguments.size() == 1) {
    // bytearray(_codecs.encode(…)): at most one call inside another.
    const PickleId inner = arguments[0];
    const bool is_same_again = pickle.kind(inner) == PickleKind::kCall &&
                               !pickle.is_global(pickle.call(inner).callable, "_codecs", "encode");
    return is_same_again ? kNoPickle : holder_of(pickle, inner);
  }
  const bool encodes = makes_bytes || pickle.is_global(call.callable, "_codecs", "encode");
  if (!encodes || arguments.size() != 2 || pickle.kind(arguments[0]) != PickleKind::kText) {
    return kNoPickle;
  }
  const auto codec = pickle.text(arguments[1]).value_or("");
  const bool is_latin1 =
      codec == "latin1" || codec == "latin-1" || codec == "latin_1" || codec == "iso-8859-1";
  return is_latin1 ? arguments[0] : kNoPickle;
}

bool is_empty_bytes(const Pickle& pickle, PickleId id) {
  if (pickle.kind(id) != PickleKind::kCall) {
    return false;
  }
  const PickleCall& call = pickle.call(id);
  const bool has_no_arguments =
      pickle.kind(call.arguments) == PickleKind::kTuple && pickle.items(call.arguments).empty();
  return has_no_arguments && is_bytes_class(pickle, call.callable);
}

}  // namespace

std::optional<PickleRange> pickled_bytes(const Pickle& pickle, PickleId id) {
  if (is_empty_bytes(pickle, id)) {
    return PickleRange{};
  }
  const PickleId holder = holder_of(pickle, id);
  return holder == kNoPickle ? std::nullopt : std::optional(pickle.range(holder));
}

std::optional<std::string> short_bytes(const Pickle& pickle, PickleId id) {
  if (is_empty_bytes(pickle, id)) {
    return std::string();
  }
  const PickleId holder = holder_of(pickle, id);
  const auto text = holder == kNoPickle ? std::nullopt : pickle.text(holder);
  if (!text || pickle.kind(holder) != PickleKind::kText) {
    return text ? std::optional(std::string(*text)) : std::nullopt;
  }
  std::string bytes;
  for (Bytes rest = bytes_of(*text); !rest.empty();) {
    const auto character = next_character(rest, ByteForm::kUtf8);
    if (!character || character->number > 0xFF) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(character->number));
    rest = rest.subspan(character->length);
  }
  return bytes;
}

}  // namespace npyfs
