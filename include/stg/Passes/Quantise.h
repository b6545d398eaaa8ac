//===- Quantise.h - matrix products on narrow copies -------------------------===//
// Needs    Explicit: where a tensor is whole, split or partial is known.
// Gives    Explicit. A matrix product with a weight that a `gemm` rule of the plan names, and the two of its backward,
//          read copies of their operands: of eight bits with an f32 scale for the whole tensor, which they read too
//          (its largest magnitude over the largest number of the type), or casts to 16 bits. With f8e4m3 what backward
//          makes is copied to f8e5m2, which reaches further (Micikevicius et al. 2022). A tensor has one copy, which
//          backward keeps instead of the tensor; a weight is copied again for backward, by the same scale.
//          Where ranks have parts of a tensor, an all-reduce finds the largest magnitude. A tensor that a collective
//          gathers only for such products is copied before it.
// Keeps    what is computed but for rounding; types of results, layouts, contraction FLOPs.
// Refuses  nothing. A product of a pending sum stays as it is.
// Cost     O(ops x rules) per distinct body. Deterministic.
// Tests    test/Passes/quantise*.stg, unittests/Numerics/QuantiseTest
//===----------------------------------------------------------------------===//
#ifndef STG_PASSES_QUANTISE_H
#define STG_PASSES_QUANTISE_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg {

void quantise(Program &program, PassStats &stats);

} // namespace stg

#endif
