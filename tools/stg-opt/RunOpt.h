//===- RunOpt.h - what stg-opt does ------------------------------------------===//
#pragma once

#include "OptOptions.h"

namespace stg {

/// Reads, verifies, runs and prints as told. Messages go to `diags`; numbers about the passes to standard error.
ExitStatus runOpt(const OptOptions &options, SourceManager &sources, llvm::raw_ostream &out, Diagnostics &diags);

} // namespace stg
