//===- SavedValues.h - what the forward keeps for the backward --------------===//
// A forward value that a backward op reads is kept. One that never leaves its forward kernel would have to be written
// for the backward alone; if it is element-wise, the backward kernels that read it compute it again from what the
// kernel read, as fused kernels do, unless that keeps more.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_AUTODIFF_SAVEDVALUES_H
#define STG_LIB_AUTODIFF_SAVEDVALUES_H

#include "stg/IR/Program.h"

namespace stg::autodiff {

/// Per value of a body without backward ops: whether it is in memory after the forward anyway, or not worth computing
/// again: it leaves its kernel, or it is neither element-wise nor a view.
std::vector<bool> storedByForward(const Body &body, IRContext &context);

/// Per forward value: whether the backward computes it again. `read`: what backward ops read. `stored` as above, and
/// what else must be kept.
std::vector<bool> computedAgain(const Body &body, size_t forwardOps, std::vector<bool> read,
                                const std::vector<bool> &stored, IRContext &context);

} // namespace stg::autodiff

#endif
