//===- MemoryLimit.h - whether a workload fits in memory --------------------===//
#ifndef STG_LIB_DRIVER_MEMORYLIMIT_H
#define STG_LIB_DRIVER_MEMORYLIMIT_H

#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

/// `80GB` is 80 x 10^9 bytes, `80GiB` 80 x 2^30; other words are reported (E512).
std::optional<int64_t> readMemoryLimit(llvm::StringRef text, Diagnostics &diags);

struct MemoryLimitCheck {
  llvm::StringRef workload;
  SourceRange where;    ///< of the workload
  int64_t limit = 0;    ///< bytes
  llvm::StringRef text; ///< the limit as given
};

/// Warns of a rank that needs more (W509), and says which knobs of the plan would change how much. The program is
/// Scheduled.
void warnIfTooLarge(const Program &program, const MemoryLimitCheck &check, Diagnostics &diags);

} // namespace stg

#endif
