// What is to be mounted and how: everything the command line of `mount` says, from options, from -o
// and from mount(8).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/fuse/serve.h"
#include "npyfs/source/decoded.h"
#include "npyfs/tree/load.h"

#include "cli/log.h"

namespace npyfs {

struct MountRequest {
  std::string source;  // both as given
  std::string mountpoint;
  LoadOptions load;
  MountOptions mount;  // without the paths
  Decoder::Options decoder;
  std::string index_directory;  // as given; "" for none
  LogOptions log;
  bool foreground = false;
  bool nonempty = false;
  bool auto_unmount = false;  // when the daemon is killed
  bool follow = false;        // links that lead out of the source, whoever may look
  bool allow_others = false;  // allow_other or allow_root
};

// With the cache that a machine of this size is given: a sixteenth of its memory, at most 256 MiB.
MountRequest default_request();

// Sets the option `name`, which is one of -o or a long option of npyfs without its dashes. What
// only concerns mount(8), or is so anyway, changes nothing. `shown_as` stands in errors: "--views",
// "-o views". Throws UsageError for an unknown option (with `sloppy` it is passed over), a bad
// value, or one that is missing or not wanted.
struct OptionText {
  std::string name;
  std::optional<std::string> value;
  std::string shown_as;
};
void set_option(MountRequest& request, const OptionText& option, bool sloppy = false);

// Sets all options of one -o, as parse_option_list reads it.
void set_options(MountRequest& request, std::string_view list, bool sloppy = false);

// What follows from several options together; once all are set.
void settle(MountRequest& request);

}  // namespace npyfs
