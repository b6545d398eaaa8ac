//===- Recompute.h - what backward computes again ----------------------------===//
// Needs    Explicit. A program that is not trained stays as it is.
// Gives    Explicit. Per body: of the forward values that backward ops read, those that rules of the plan say to
//          recompute and that are not cheaper to keep are computed again by Recompute ops, clones of the forward ops
//          between all Forward and all InputGrad ops. What is kept for them is the cut of fewest bytes between what is
//          there anyway and what backward reads; of several such cuts the one that leaves the least to compute.
// Keeps    Forward ops, and what backward ops compute. The backward never reads a forward value of an op that a rule
//          recomputes but those of the cut.
// Refuses  nothing. Warns W303 RuleNeverApplies, W508 RecomputesNothing.
// Cost     O(ops x rules) per distinct body, and the cut: at most O(ops^3), in practice ops times values that are cut.
// Tests    test/Memory/recompute*, unittests/Memory/MinCutTest, unittests/Numerics/RecomputeTest
//===----------------------------------------------------------------------===//
#ifndef STG_MEMORY_RECOMPUTE_H
#define STG_MEMORY_RECOMPUTE_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

void recompute(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
