// The requests of the kernel, answered from a Tree.
//
// Each operation finds the node, makes the bytes and replies once, as its last act: libfuse frees
// the request with the reply, whatever comes of it, so a reply that fails is never answered again.
#pragma once

#include "fuse/fuse_api.h"

namespace npyfs {

// For a session whose user data is a Server.
const fuse_lowlevel_ops& operations();

}  // namespace npyfs
