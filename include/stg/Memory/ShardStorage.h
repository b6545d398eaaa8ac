//===- ShardStorage.h - gradient synchronisation and the optimizer's step ---===//
// Needs    Explicit.
// Gives    Stored. Weights that the plan keeps in shards have the shards' layout in their slots; bodies gather them for
//          the forward and the backward and reduce-scatter gradients to theirs, one collective for all tensors of a
//          unit with the same atoms and element type (StoreWeights).
//          If the program is trained, each body with trained weights of its own has Sync ops that complete the gradient
//          buffers over exactly the atoms on which they are partial, again a collective for all of a unit, and Step ops
//          that run the optimizer's body on master copy, gradient and states, in the layout of the states
//          (StepWriter). A last unit `step` does so for the program's own weights, and what concerns the whole
//          program: the loss, the global gradient norm.
// Keeps    what micro-batches compute.
// Refuses  E506 StorageSplitsNothing.
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
