//===- ExtractBundle.h - a directory of files from a bundle -----------------===//
// Writes what the directory writer would have written in the place of the bundle,
// byte for byte.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/TraceDirectory.h"
#include "stg/Support/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

struct ExtractOptions {
  std::string bundle;
  std::string output;
  DirectoryOptions directory = {};
  unsigned threads = 0; ///< 0: as many as the machine has
};

/// Writes all traces of a bundle, in folders as the bundle says, and prints a line for each. A rank that one of them
/// has not is E613; a damaged bundle leaves nothing behind.
ExitStatus extractBundle(const ExtractOptions &options, llvm::raw_ostream &out, Diagnostics &diags);

} // namespace stg
