// libfuse's low-level interface, in the version npyfs is written for.
#pragma once

// 3.12 brought fuse_loop_cfg_create; everything newer is asked for by FUSE_VERSION.
#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 312
#endif

#include <fuse_lowlevel.h>
