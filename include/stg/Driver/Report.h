//===- Report.h - what a compiled workload costs ---------------------------------===//
// Parameters in elements, FLOPs with a multiply-add = 2, bytes as kernels move them. FLOPs of the model are those of
// one step, each op once; what ranks execute, bytes and communication are those of one rank in one step.
//===----------------------------------------------------------------------===//
#ifndef STG_DRIVER_REPORT_H
#define STG_DRIVER_REPORT_H

#include "stg/Driver/Compile.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

/// Numbers, or formulas in the model's size parameters.
enum class ReportStyle : uint8_t { Numbers, Formulas };

void printReport(const CompiledWorkload &workload, ReportStyle style, llvm::raw_ostream &os);
/// One JSON object with a member per workload; docs/report.md lists the keys.
void printReportJson(const std::vector<CompiledWorkload> &workloads, ReportStyle style, llvm::raw_ostream &os);

} // namespace stg

#endif
