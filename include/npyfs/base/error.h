// How npyfs fails: one exception, with a text for a person and an errno for the kernel.
//
// The text is `path: member: what, with numbers; the way out`, lower case, no full stop. A layer
// that knows more of the place than the one that threw adds it in front (`prefixed`).
#pragma once

#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace npyfs {

// The way out of most damage, to end a text with.
inline constexpr std::string_view kFetchAgain = "; fetch or write it again";

class Error : public std::runtime_error {
 public:
  Error(int errno_value, const std::string& message)
      : std::runtime_error(message), errno_value_(errno_value) {}

  // What a system call on the mount answers: EIO for damage, EOPNOTSUPP, ESTALE …
  int errno_value() const { return errno_value_; }

  // The same failure, with `place` and a colon in front of the text.
  Error prefixed(std::string_view place) const {
    return Error(errno_value_, std::string(place) + ": " + what());
  }

 private:
  int errno_value_;
};

// The parts written one after another, as `<<` writes them.
template <typename... Parts>
std::string text_of(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

[[noreturn]] void throw_error(int errno_value, const std::string& message);

// Bytes that break the rules of their format: EIO.
template <typename... Parts>
[[noreturn]] void throw_corrupt(const Parts&... parts) {
  throw_error(EIO, text_of(parts...));
}

// Valid, but not for us: EOPNOTSUPP.
template <typename... Parts>
[[noreturn]] void throw_unsupported(const Parts&... parts) {
  throw_error(EOPNOTSUPP, text_of(parts...));
}

// A system call failed: `errno_value` and its text, after `what`.
[[noreturn]] void throw_system(int errno_value, const std::string& what);

// The symbolic name, as errors.json has it: "EIO", "ESTALE" …
std::string errno_name(int errno_value);

}  // namespace npyfs
