//===- Specialise.h - a body per answer of the plan -------------------------===//
// Needs    Typed.
// Gives    the same level: no rule of the plan tells two units of one body apart, so later passes ask the rules once
// per
//          body.
// Keeps    everything but which body a unit names; copies of `block` are called `block'1`, `block'2`.
// Refuses  nothing.
// Cost     O(units x patterns with an iteration + bodies x (ops + names x patterns)). Deterministic.
// Tests    test/Passes/specialise.stgir
//===----------------------------------------------------------------------===//
#ifndef STG_PASSES_SPECIALISE_H
#define STG_PASSES_SPECIALISE_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg {

void specialise(Program &program, PassStats &stats);

} // namespace stg

#endif
