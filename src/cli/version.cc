#include <fmt/format.h>
#include <isa-l.h>
#include <zip.h>
#include <zlib.h>

#include "npyfs/fuse/serve.h"

#include "cli/run.h"

namespace npyfs {

std::string version_text() {
  return fmt::format(
      "npyfs {}\n"
      "libfuse {}\n"
      "libzip {}\n"
      "zlib {}\n"
      "ISA-L {}.{}.{}\n",
      NPYFS_VERSION, libfuse_version(), zip_libzip_version(), zlibVersion(), ISAL_MAJOR_VERSION,
      ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
}

}  // namespace npyfs
