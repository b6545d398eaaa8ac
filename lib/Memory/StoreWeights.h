//===- StoreWeights.h - weights and gradients in shards ---------------------===//
#ifndef STG_LIB_MEMORY_STOREWEIGHTS_H
#define STG_LIB_MEMORY_STOREWEIGHTS_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg {

/// Gives weights that rules of the plan keep in shards their stored layout: units gather them before the forward and,
/// unless a rule says otherwise, again for the backward. Gradients that go to their shards with each micro-batch are
/// reduce-scattered behind the backward of their unit. One collective for all weights of a unit with the same atoms
/// and element type. Splits bodies whose units the rules tell apart.
void storeWeights(Program &program, PassStats &stats);

} // namespace stg

#endif
