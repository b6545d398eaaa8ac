//===- LocalOp.h - one op on what one rank holds ----------------------------===//
// Everything that an op computes from its operands alone. Leaves, collectives and what lives across units and steps are
// not here (UnitRun.h).
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_LOCALOP_H
#define STG_LIB_INTERP_LOCALOP_H

#include "stg/IR/Program.h"
#include "stg/Interp/Tensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg::interp {

/// What an op needs to know besides its operands.
struct OpPlace {
  const Program &program;
  const Body &body;
  uint64_t seed = 0;
  /// Of the unit, and of the calls around a define block: tells the dropouts of equal bodies apart.
  const std::string &path;
  /// What is held of a dim that result `result` has.
  llvm::function_ref<TensorDim(uint32_t result, const Dim &dim)> heldDim;
  /// Elements that the whole run has made: checkRunSize knows nothing of values without a type.
  int64_t &elements;
};

/// The results of a pure op. Throws InterpFault.
std::vector<Tensor> evaluateOp(const Op &op, std::vector<Tensor> operands, const OpPlace &place);

/// A dim that is whole.
TensorDim wholeDim(const Dim &dim);
TensorDims wholeDims(const TensorType &type);
/// `[S = 4, T = 2 of 8]`.
std::string describe(llvm::ArrayRef<TensorDim> dims, const IRContext &context);
/// Throws InterpFault where `value` has other dims than `stated`, or another element type.
void checkDims(const Tensor &value, llvm::ArrayRef<TensorDim> stated, ElementType element, const IRContext &context);
/// Adds the elements of `value` to `elements`. Throws InterpFault if these are too many.
void countElements(const Tensor &value, int64_t &elements);

} // namespace stg::interp

#endif
