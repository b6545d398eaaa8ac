//===- VerifyPipeline.h - promises of a program cut into stages -------------===//
// Private to lib/IR.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_VERIFYPIPELINE_H
#define STG_LIB_IR_VERIFYPIPELINE_H

#include "stg/IR/Verifier.h"

namespace stg {

/// `program` has a pipeline and sound units. Every unit has a stage, or a rank for its step; ranks, sums and transfers
/// are of the pipeline; nothing is split over its atoms. From Scheduled on: each rank has its list, and what crosses
/// ranks is sent.
std::vector<Violation> verifyPipeline(const Program &program);

} // namespace stg

#endif
