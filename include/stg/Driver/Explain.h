//===- Explain.h - why layouts and traffic are what they are -----------------===//
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

/// Each tensor that the pattern names: its type and home, for each axis of the mesh the rules that were considered and
/// what became of them, who makes and who reads it, and the collectives in between. False if it names none.
bool explainTensors(const CompiledWorkload &workload, const PathPattern &pattern, ReportStyle style,
                    const SourceManager &sources, llvm::raw_ostream &os);

} // namespace stg

#endif
