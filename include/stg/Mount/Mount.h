//===- Mount.h - a bundle as a folder of files ------------------------------===//
#pragma once

#include "stg/Support/Diagnostics.h"

namespace stg {

enum class MountRun { Background, Foreground };

struct MountOptions {
  std::string bundle;
  /// An empty folder.
  std::string directory;
  MountRun run = MountRun::Background;
  /// File to which damage that reads meet is added; empty: standard error in the foreground, else the system's log.
  std::string log;
};

/// Shows the files of a bundle in a folder until it is unmounted or the process gets SIGTERM, SIGINT or SIGHUP.
/// In the background, the calling process ends with status 0 within this call, as soon as the files are there;
/// another goes on.
ExitStatus mountBundle(const MountOptions &options, Diagnostics &diags);

} // namespace stg
