//===- CompareRanks.h - judges a split program by numbers -------------------===//
// A program with layouts is run three ways: the program that it was made from on one device, itself on one device
// (layout ops are the identity: does it still mean the same?), and itself on all ranks of its mesh (do the layouts and
// collectives keep that meaning?).
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_COMPARERANKS_H
#define STG_INTERP_COMPARERANKS_H

#include "stg/Interp/Interpreter.h"

namespace stg::interp {

struct RankComparison {
  /// What differs first, in order of execution, or the fault that ended a run; empty if nothing does.
  std::string difference;
  SourceRange where;   ///< of a fault
  size_t compared = 0; ///< tensors, on ranks with one device
  size_t shared = 0;   ///< of them, also with the original
  InterpResult onRanks;

  bool agrees() const { return difference.empty(); }
};

/// Two tensors agree if no two elements differ by more than 1e-9 of the largest (and 1e-12). Values are compared by
/// unit and name, micro-batch by micro-batch, then gradients; then, from the ranks' gradients on one device too, the
/// step, states and new weights. What `original` does not have (an earlier level has no gradients, conversions have no
/// original) is compared among the runs of `split` only. Needs level Laid or later of `split`, which may have a context
/// of its own. Does not throw.
RankComparison compareRanks(const Program &original, const Program &split, const InterpInputs &inputs);

} // namespace stg::interp

#endif
