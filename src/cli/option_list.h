// The text after -o, taken apart: options with commas between them, as mount(8) and fstab write
// them.
//
//   ro,allow_other,views=npy:raw,fsname=a\,b,comment="c,d"
//
// A comma that belongs to a value is written `\,`, or the value stands in double quotes. `\\` is
// one backslash; before any other character a backslash is itself, since globs use it too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npyfs {

struct ListedOption {
  std::string name;
  std::optional<std::string> value;  // what follows '='
  friend bool operator==(const ListedOption&, const ListedOption&) = default;
};

// Empty options (",,") drop out. Throws UsageError for a quote that isn't closed, or a name that is
// empty.
std::vector<ListedOption> parse_option_list(std::string_view text);

// A value that is a list itself: parts with ':' between them, where `\:` is a colon of a part.
std::vector<std::string> split_value(std::string_view value);

}  // namespace npyfs
