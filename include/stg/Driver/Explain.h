//===- Explain.h - why the traffic is what it is ----------------------------===//
#ifndef STG_DRIVER_EXPLAIN_H
#define STG_DRIVER_EXPLAIN_H

#include "stg/Driver/Compile.h"
#include "stg/Driver/Report.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

/// Every collective of a step: kind, axes, bytes, how often, the two layouts, and the plan lines that placed the axes
/// before and after.
void explainCommunication(const CompiledWorkload &workload, ReportStyle style, const SourceManager &sources,
                          llvm::raw_ostream &os);

} // namespace stg

#endif
