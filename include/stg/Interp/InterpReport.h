//===- InterpReport.h - results of a run as text ---------------------------===//
#ifndef STG_INTERP_INTERPREPORT_H
#define STG_INTERP_INTERPREPORT_H

#include "stg/Interp/CompareRanks.h"
#include "stg/Support/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace stg::interp {

/// One line per kept value, gradient, state, new weight, loss and output, in this order, then the step's loss if there
/// is one:
///   value blocks[1].attn.q f32[B = 2, S = 2]: 0.25 -1 3 0.5
///   output logits bf16[B = 2, S = 4, V = 100]: sum 12.25, sum of absolute values 310.5
///   loss 2.30259
/// Up to 16 elements are listed; of more, the sums. Numbers have 6 digits, and what is below 1e-9 is shown as 0, so
/// that rounding does not show.
void printResult(const InterpResult &result, const IRContext &context, llvm::raw_ostream &os);

/// Runs `program` on inputs made up from `seed` and prints all values. A program that cannot be run is reported.
void interpretAndPrint(const Program &program, uint64_t seed, Diagnostics &diags, llvm::raw_ostream &os);

/// compareRanks on inputs made up from `seed`. Prints one line about what was compared; a difference is reported.
void compareRanksAndPrint(const Program &original, const Program &split, uint64_t seed, Diagnostics &diags,
                          llvm::raw_ostream &os);

} // namespace stg::interp

#endif
