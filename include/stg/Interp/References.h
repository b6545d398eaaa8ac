//===- References.h - meanings of std ops that have no define block --------===//
// A reference sees a call through the op's own eyes: operands and results carry the op's factor names (`b`, `s`, `t`),
// whatever the caller's dims are called. References take leading dims as they come (an op declared `x[..., c]` is
// called with any), and optional operands and static arguments by presence, so that one serves every edition of the std
// op.
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_REFERENCES_H
#define STG_INTERP_REFERENCES_H

#include "stg/IR/Program.h"
#include "stg/Interp/OpMeanings.h"
#include "stg/Interp/Tensor.h"

namespace stg::interp {

/// The number that `size` stands for. Throws InterpFault if it has none.
int64_t sizeOf(DimExpr size);
Visibility visibilityOf(const MaskValue &mask);

/// Translates between the caller's dims and factor names. A factor of a composite (`h` of an `H` that is KV, R) is
/// several IR factors of one name: the first keeps it, the others get names of their own.
class FactorNames {
public:
  /// `dims`: the positions of each factor that are held here, under the caller's names.
  FactorNames(const CallFields &call, IRContext &context, std::vector<TensorDim> dims);
  /// The factor under its own name.
  const TensorDim &operator[](uint32_t factor) const { return factors_[factor]; }
  /// An operand under factor names, stored in the signature's order. A dim that the signature lets be absent is there
  /// with size 1.
  Tensor toFactors(size_t position, const Tensor &operand) const;
  /// A result of a reference under the caller's dims, in the order and element type that the call declares.
  Tensor fromFactors(size_t position, const Tensor &result) const;

private:
  const CallFields &call_;
  std::vector<TensorDim> factors_;
};

/// A call as its reference sees it.
class ReferenceCall {
public:
  ReferenceCall(const CallFields &call, IRContext &context, const FactorNames &factors, std::vector<Tensor> operands);

  /// The name of a factor of the op, for use with Tensor.
  NameId dim(llvm::StringRef factor) const { return context_.name(factor); }
  /// Size of a factor over all ranks. Throws InterpFault if the call has none of this name.
  int64_t size(llvm::StringRef factor) const;

  size_t operandCount() const { return operands_.size(); }
  /// Throws InterpFault if the call lacks it.
  const Tensor &operand(size_t position) const;
  /// The first operand from `start` on that has all of `with` and none of `lacking`; null if the call has none.
  const Tensor *findOperand(size_t start, llvm::ArrayRef<llvm::StringRef> with,
                            llvm::ArrayRef<llvm::StringRef> lacking) const;
  size_t resultCount() const { return call_.resultFactors.size(); }
  /// Zeros of the type of result `position`.
  Tensor emptyResult(size_t position, double value = 0) const;

  /// Static arguments; the fallback if the call has none of this name.
  double number(llvm::StringRef name, double fallback) const;
  bool flag(llvm::StringRef name, bool fallback) const;
  std::string text(llvm::StringRef name, llvm::StringRef fallback) const;
  Visibility mask(llvm::StringRef name, MaskKind fallback) const;

private:
  const StaticArg *findStatic(llvm::StringRef name) const;

  const CallFields &call_;
  IRContext &context_;
  const FactorNames &factors_;
  std::vector<Tensor> operands_;
};

/// An operand whose numbers are positions of a factor.
struct IndexOperand {
  size_t operand;
  llvm::StringRef factor;
};

struct Reference {
  llvm::StringRef op;
  std::vector<Tensor> (*run)(const ReferenceCall &call);
  /// Inputs that end here are made up within the factor's size.
  std::vector<IndexOperand> indices;
};
llvm::ArrayRef<Reference> references();
const Reference *findReference(llvm::StringRef op);

} // namespace stg::interp

#endif
