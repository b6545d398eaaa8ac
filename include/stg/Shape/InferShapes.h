//===- InferShapes.h - give every value a type -----------------------------===//
// Needs    Elaborated: SSA bodies, slots with types.
// Gives    Typed: every value has a type, and it is the one that its op's shape rule gives.
// Keeps    everything else. Types that are already there are inferred again and replaced.
// Refuses  E910 ShapeRuleBroken.
// Cost     O(ops of distinct bodies). Deterministic.
// Tests    test/Shape/infer-shapes*.stgir, unittests/Shape
//===----------------------------------------------------------------------===//
#ifndef STG_SHAPE_INFERSHAPES_H
#define STG_SHAPE_INFERSHAPES_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"

namespace stg {

/// Errors go to `diags`, one per root cause: what depends on an op without a type stays silent. On failure the
/// program's level is unchanged.
Outcome inferShapes(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
