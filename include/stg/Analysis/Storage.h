//===- Storage.h - what a rank keeps from micro-batch to micro-batch --------===//
// Weights, gradient buffers, optimizer states and the model's own states, each once per layout in which units use it.
// No activations. Visits slots, not ops, except to tell an optimizer's state from the model's.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_STORAGE_H
#define STG_ANALYSIS_STORAGE_H

#include "stg/IR/Program.h"

namespace stg {

/// In bytes of one rank.
struct StoredBytes {
  DimExpr weights, gradients;
  DimExpr optimizer; ///< moments and master copies
  DimExpr states;    ///< of the model: caches
  DimExpr host;      ///< weights and optimizer states that rest in the memory of the host; the others do not have them
};

/// `program` must be Laid or later; optimizer states are there from Stored on.
/// `pipelineRank`: of the ranks at this place of the pipeline.
StoredBytes storedBytes(const Program &program, uint32_t pipelineRank = 0);

} // namespace stg

#endif
