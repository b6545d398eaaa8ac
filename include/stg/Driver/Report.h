//===- Report.h - what a compiled workload costs ---------------------------------===//
// Everything is a sum over kernels per body, times the units of that body: the cost law holds for reports too.
// Parameters in elements, FLOPs with a multiply-add = 2, bytes as kernels move them. One forward pass of one rank
// unless said otherwise.
//===----------------------------------------------------------------------===//
#ifndef STG_DRIVER_REPORT_H
#define STG_DRIVER_REPORT_H

#include "stg/Driver/Compile.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

/// Numbers, or formulas in the model's size parameters.
enum class ReportStyle : uint8_t { Numbers, Formulas };

void printReport(CompiledWorkload &workload, ReportStyle style, llvm::raw_ostream &os);
/// One JSON object with a member per workload; docs/report.md lists the keys.
void printReportJson(std::vector<CompiledWorkload> &workloads, ReportStyle style, llvm::raw_ostream &os);

} // namespace stg

#endif
