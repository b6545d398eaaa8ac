//===- ShapeRules.h - operand types to result types ------------------------===//
// One function per ShapeRule column of Ops.def. The rules are those of language.md 4.1; the fields that they read are
// described in Program.h. A broken rule is a structure without text: Sema renders it as a message about the user's
// line, the pass as one about an op of the IR.
//===----------------------------------------------------------------------===//
#ifndef STG_SHAPE_SHAPERULES_H
#define STG_SHAPE_SHAPERULES_H

#include "stg/IR/Program.h"

namespace stg {

/// Which rule is broken. Comments say what `operands`, `dims`, `a` and `b` hold.
enum class ShapeFault : uint8_t {
  OperandCount,      ///< the op takes another number of operands; a: number it has
  UnknownReducedDim, ///< dims: reduced, in no operand
  NotContained,      ///< operands: two of which neither has all dims of the other; dims: the union over all operands
  SizesDiffer,       ///< operands: the two; dims: the dim; a, b: its sizes. One operand only: b is what the op declares
  DuplicateDim,      ///< dims: would occur twice in the result or in a list; operands: where it is, if in one
  MissingDim,        ///< operands: the one that lacks it; dims: the dims it should have
  ExtraDim,          ///< operands: the one that has it; dims: dims that it must not have
  ViewSizes,         ///< dims: `from` of the item; a: their product; b: product of the new sizes
  IndexNotInteger,   ///< operands: the index
  OutOfRange,        ///< dims: the dim; a: first position beyond; b: size
  FieldsMismatch,    ///< the op's fields are another kind's: ours
};
llvm::StringRef spelling(ShapeFault fault);

struct ShapeError {
  ShapeFault fault = ShapeFault::OperandCount;
  llvm::SmallVector<unsigned, 2> operands;
  llvm::SmallVector<NameId, 4> dims;
  DimExpr a, b;
};

/// Types of the results, or why there are none.
struct ShapeResult {
  llvm::SmallVector<TensorType, 2> types;
  std::optional<ShapeError> error;
  bool ok() const { return !error; }
};

/// Types of `op`'s results, given those of its operands. `body` is asked for slots only (input, weight, state, update),
/// so it may be unfinished. Sizes of equal names must agree where both are known; unknown ones are accepted.
ShapeResult inferTypes(const Op &op, llvm::ArrayRef<const TensorType *> operands, const Body &body, IRContext &context);

/// The error as a clause about the IR, names resolved: "operand 1 has D = 8, operand 0 has D = 4".
std::string describe(const ShapeError &error, const IRContext &context);

} // namespace stg

#endif
