//===- ShardStorage.h - gradient synchronisation and the optimizer's step ---===//
// Needs    Explicit. A program that is not trained only changes its level.
// Gives    Stored. Per body with trained weights of its own: Sync ops that complete the gradient buffers over exactly
//          the atoms on which they are partial, one collective for all tensors of a unit with the same atoms and
//          element type (a bucket of whole units), and Step ops that run the optimizer's body on master copy, gradient
//          and states. A last unit `step` does so for the program's own weights, and what concerns the whole program:
//          the loss, the global gradient norm.
// Keeps    everything that runs per micro-batch.
// Refuses  E515 OptimizerNeedsWholeDim.
// Cost     O(ops of distinct bodies and of the optimizers inlined into them).
// Tests    test/Memory, unittests/Numerics
//===----------------------------------------------------------------------===//
#ifndef STG_MEMORY_SHARDSTORAGE_H
#define STG_MEMORY_SHARDSTORAGE_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"

namespace stg {

Outcome shardStorage(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
