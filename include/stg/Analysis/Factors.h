//===- Factors.h - the iteration dims of an op -------------------------------===//
// Every op is a loop nest over factors; a factor is a dim of some operands and results under possibly different names.
// The kind says what happens when a mesh axis lands on it (language.md 5.7). One function per FactorRule column of
// Ops.def.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_FACTORS_H
#define STG_ANALYSIS_FACTORS_H

#include "stg/IR/Program.h"

namespace stg {

struct OpFactor {
  FactorKind kind = FactorKind::Map;
  DimExpr size;
  /// Per operand: the dim that it is there; invalid where the operand lacks it. The parts of a split or merged dim name
  /// the same whole dim, major to minor.
  llvm::SmallVector<NameId, 4> operandDims;
  llvm::SmallVector<NameId, 2> resultDims;
  /// Carry: the dim itself. What lacks it but has the dim that it is carried to has that one above.
  NameId ownDim = {};
  /// Calls: index into CallFields::factors, which has the arguments of the kind.
  std::optional<uint32_t> callFactor;
};

/// Factors of a Typed op in order of preference (language.md 5.3): those of the first result in its order, then of the
/// other results, then the rest by operands.
///
/// Contract: results map, reduced sum. Reduce: sum or max by its function; whole for min and prod, which no partial
/// value can carry. View: renames and declared factors map; what is split or merged without a `factor` is whole.
/// Concat, at, slice, append: the dim along which they cut is whole. Gather: the indexed dim is sum. Scatter: the made
/// dim is map, the replaced ones sum. Leaves other than iota have none. What a carry of a call leads to is whole for
/// itself.
std::vector<OpFactor> factorsOf(const Op &op, const Body &body);

} // namespace stg

#endif
