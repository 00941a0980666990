// --index-dir: where a mount keeps restart points of deflated members for the next one.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "npyfs/source/restart_store.h"

namespace npyfs {

// The directory that "auto" means: npyfs in $XDG_CACHE_HOME, or in .cache of the user's home; empty
// if there is no such place.
std::string cache_directory();

// The store in `given`, which is a directory or "auto". Null for an empty `given`, or if it can't
// be had: reading is slower then and nothing else, so a mount goes on with a warning to `err`. What
// goes wrong later is logged. Not while other threads run.
std::shared_ptr<const RestartStore> open_index(const std::string& given, std::ostream& err);

}  // namespace npyfs
