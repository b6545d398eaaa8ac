//===- GradientRules.h - from the cotangent of a result to those of operands -===//
// One function per GradientRule column of Ops.def; Map's goes by the gradient column of MapFns.def.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_AUTODIFF_GRADIENTRULES_H
#define STG_LIB_AUTODIFF_GRADIENTRULES_H

#include "BackwardBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg::autodiff {

/// One forward op whose results have cotangents.
struct OpGradient {
  const Program &program;
  const Op &op;
  BackwardBuilder &build;
  /// Per result; invalid where there is none. They may lack dims of the result.
  llvm::SmallVector<ValueId, 2> cotangents;
  /// Per operand: whether its cotangent is wanted, and of which element type.
  llvm::SmallVector<bool, 4> wanted;
  llvm::SmallVector<ElementType, 4> elements;
  llvm::function_ref<void(size_t operand, ValueId part)> contribute;
  /// Of a dropout, if it is kept: which elements are, one byte each.
  ValueId mask = {};

  ValueId cotangent() const { return cotangents.front(); }
  ValueId result() const { return op.results.front(); }
  const TensorType &resultType() const { return build.type(result()); }
  const TensorType &operandType(size_t i) const { return build.type(op.operands[i]); }
  /// Sums `value`, which is one number per index of the result, over the dims that the operand lacks.
  void giveSummed(size_t i, ValueId value) {
    DimList kept = operandType(i).dims, domain = resultType().dims;
    contribute(i, build.summedTo(value, kept, domain, elements[i]));
  }
};

/// Contributes to the operands that want it. At least one does, and some result has a cotangent.
void applyGradientRule(OpGradient &gradient);
/// Of element-wise functions.
void mapGradient(OpGradient &gradient);
/// Of calls: the grad body, inlined.
void callGradient(OpGradient &gradient);

} // namespace stg::autodiff

#endif
