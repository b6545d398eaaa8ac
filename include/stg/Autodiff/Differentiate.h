//===- Differentiate.h - add the backward ops of a training step -----------===//
// Needs    Typed, and specialised: the plan's optimizer rules answer alike for all units of one body.
// Gives    Differentiated. In training: the bodies of units have input-grad and weight-grad ops behind their forward
//          ops, input slots for cotangents and accumulators, outputs for the cotangents of what they read, and one
//          `accumulate` per weight that trains and that their loss reaches. In other modes only the level changes.
// Keeps    forward ops, their order and names; units and their paths. A body is split where its units need different
//          gradients: the copies of `block` are `block'1`, `block'2`.
// Refuses  nothing that a user writes: calls without the gradient that training needs are refused before (E210).
// Cost     O(bodies x ops + units x slots). Deterministic.
// Tests    test/Autodiff/*.stgir, unittests/Autodiff
//===----------------------------------------------------------------------===//
#ifndef STG_AUTODIFF_DIFFERENTIATE_H
#define STG_AUTODIFF_DIFFERENTIATE_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg {

void differentiate(Program &program, PassStats &stats);

} // namespace stg

#endif
