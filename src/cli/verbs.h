// What npyfs can be told to do, one file each. A verb gets the words after its name, writes results
// to `out` and the rest to `err`, and returns 0 (done) or 1 (failed, and said so). It throws
// UsageError for wrong usage and Error for a failure that ends it; run() prints those.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

namespace npyfs {

using Words = std::span<const std::string>;

int mount_verb(Words words, std::ostream& out, std::ostream& err);
// The arguments that mount(8) gives a helper such as /sbin/mount.fuse.npyfs.
int mount_helper(Words words, std::ostream& out, std::ostream& err);
int umount_verb(Words words, std::ostream& out, std::ostream& err);
int ls_verb(Words words, std::ostream& out, std::ostream& err);
int info_verb(Words words, std::ostream& out, std::ostream& err);
int cat_verb(Words words, std::ostream& out, std::ostream& err);
int extract_verb(Words words, std::ostream& out, std::ostream& err);

}  // namespace npyfs
