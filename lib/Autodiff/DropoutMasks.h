//===- DropoutMasks.h - what a dropout keeps for its backward ---------------===//
// Which elements a dropout kept is one byte for each, kept for the backward instead of drawn again (language.md 3). The
// mask is made in the statement of the dropout, from the same stream, so both are one kernel.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_AUTODIFF_DROPOUTMASKS_H
#define STG_LIB_AUTODIFF_DROPOUTMASKS_H

#include "stg/IR/Program.h"
#include "llvm/ADT/DenseMap.h"

namespace stg::autodiff {

/// By index of the dropout's result: its mask, 1 or 0.
using DropoutMasks = llvm::DenseMap<uint32_t, ValueId>;

/// Adds a mask behind each dropout whose result is in `varied`. Values keep their ids, ops move up.
DropoutMasks addDropoutMasks(IRContext &context, Body &body, const std::vector<bool> &varied);

} // namespace stg::autodiff

#endif
