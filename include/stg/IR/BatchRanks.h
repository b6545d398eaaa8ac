//===- BatchRanks.h - which ranks share a batch -----------------------------===//
#ifndef STG_IR_BATCHRANKS_H
#define STG_IR_BATCHRANKS_H

#include "stg/IR/Mesh.h"
#include "stg/IR/Plan.h"

namespace stg {

struct BatchRanks {
  int64_t count = 1;
  std::string axes = {}; ///< `dp = 32 x rep = 2`, for messages
};

/// The ranks that split `batch` by rules without a scope. An axis goes to the first rule that names it.
BatchRanks batchRanks(const Mesh &mesh, llvm::ArrayRef<SplitRule> splits, NameId batch);

} // namespace stg

#endif
