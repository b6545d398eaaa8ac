//===- FuseOperations.h - answers to the kernel's requests ------------------===//
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse3/fuse_lowlevel.h>

#include "MountLog.h"
#include "stg/Mount/MountTree.h"

#include <sys/stat.h>

namespace stg {

/// What the answers are made from; the session's user data.
struct MountedBundle {
  const bundle::Bundle &bundle;
  const MountTree &tree;
  MountLog &log;
  /// Opened for reading, and its state then: files show its times.
  int file = -1;
  struct stat facts = {};
  std::string path;
};

/// Reading is answered, every change refused with EROFS. Files may be opened for writing, which is what simulators
/// do that only read (`std::fstream(path, in | app)`): only the write itself is refused.
fuse_lowlevel_ops fuseOperations();

} // namespace stg
