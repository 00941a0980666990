// Bytes in a pickle, in each of the ways that Python has written them.
#pragma once

#include <optional>
#include <string>

#include "npyfs/format/pickle.h"

namespace npyfs {

// Where the bytes are that a value stands for: its own, those given to bytes() or bytearray(), or
// the text that a codec is to turn into them, since protocols below 3 have no bytes. nullopt if the
// value isn't bytes.
std::optional<PickleRange> pickled_bytes(const Pickle& pickle, PickleId id);

// The same, if they are few enough to have been copied.
std::optional<std::string> short_bytes(const Pickle& pickle, PickleId id);

}  // namespace npyfs
