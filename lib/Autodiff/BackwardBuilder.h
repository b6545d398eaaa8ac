//===- BackwardBuilder.h - emits the backward ops of one body ----------------===//
// A cotangent may lack dims of its primal: it is then the same along them (the gradient of a sum). Rules work on such
// short values as they are; what must have all dims asks for it.
//
// Ops are drafted with the forward op that they belong to. `finish` drops what nothing uses, tells input-grad from
// weight-grad ops, computes again what the forward need not keep, numbers the kernels and adds the rest to the body.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_AUTODIFF_BACKWARDBUILDER_H
#define STG_LIB_AUTODIFF_BACKWARDBUILDER_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include <set>

namespace stg::autodiff {

using DimList = llvm::SmallVector<Dim, 6>;

class BackwardBuilder {
public:
  BackwardBuilder(IRContext &context, Body &body);

  IRContext &context() { return context_; }
  const Body &body() const { return body_; }
  const TensorType &type(ValueId value) const { return *body_.value(value).type; }

  /// What is emitted from now on belongs to this op: its scope and place, and its statement. `group` tells apart what
  /// must not fuse with the rest of the statement.
  void enter(const Op &forward, uint32_t group = 0);

  /// Ops made from now on have the scope of the op that makes `value`, if that is a backward one.
  void standWith(ValueId value);
  /// What is emitted from now on joins the kernel that makes `value`, if ops can join it.
  void fuseWith(ValueId value);

  ValueId emit(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields, TensorType type);
  /// Several results, or none.
  llvm::SmallVector<ValueId, 2> emitAll(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields,
                                        llvm::ArrayRef<TensorType> types);

  ValueId constant(double number);
  ValueId constant(DimExpr size);
  /// Operands that lack dims are repeated along them; if none has all dims, the first is broadcast.
  ValueId map(MapFn fn, llvm::ArrayRef<ValueId> operands, ElementType element);
  ValueId contract(llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<NameId> reduced, ElementType element);
  ValueId reduceSum(ValueId value, llvm::ArrayRef<NameId> reduced, ElementType element);
  ValueId slice(ValueId value, NameId from, const Dim &to, DimExpr start);
  ValueId pad(ValueId value, NameId from, const Dim &to, DimExpr start);
  /// One-to-one: `from[i]` becomes `to[i]`.
  ValueId renamed(ValueId value, llvm::ArrayRef<NameId> from, llvm::ArrayRef<Dim> to);

  /// `value` with all of `dims`, in this order. The same value if it is so already.
  ValueId full(ValueId value, llvm::ArrayRef<Dim> dims);
  /// `value` with at least `dims`.
  ValueId withDims(ValueId value, llvm::ArrayRef<Dim> dims);
  /// Summed over those dims of `domain` that `kept` lacks. Along dims that `value` lacks that is a multiplication.
  ValueId summedTo(ValueId value, llvm::ArrayRef<Dim> kept, llvm::ArrayRef<Dim> domain, ElementType element);

  /// Whether a backward op reads the forward value already, or it outlives the forward anyway.
  bool isSaved(ValueId value) const;
  /// Of two forward values that would do, the one that costs no storage; else the second.
  ValueId cheaper(ValueId first, ValueId second) const { return isSaved(first) && !isSaved(second) ? first : second; }

  /// Marks the backward op that makes `value` as one of the input gradient.
  void needForInput(ValueId value);
  /// The cotangent of `primal` is `value`: names it and says where it lives, unless it is another's already.
  void nameCotangent(ValueId value, ValueId primal);
  /// Where `value`, a part of the cotangent of `primal`, lives. Of several primals the first one asked for counts.
  void placeLike(ValueId value, ValueId primal);

  ValueId addInput(InputSlot slot, ValueId primal);
  void accumulate(ValueId gradient, uint32_t slot);

  /// Adds the drafted ops to the body; ids of values that it handed out are void afterwards, but those of outputs.
  void finish(PassStats &stats);

private:
  struct Draft {
    Op op;
    uint32_t group = 0;
    bool live = false;
  };

  bool isBackward(ValueId value) const { return value.index >= firstValue_; }
  Draft &maker(ValueId value) { return drafts_[body_.value(value).def.index - body_.ops.size()]; }
  ValueId storageOf(ValueId value) const;
  void markLive();
  void spreadInputGrad();
  void computeAgain();
  void numberKernels();
  void append(PassStats &stats);

  IRContext &context_;
  Body &body_;
  size_t firstValue_;
  std::vector<Draft> drafts_;
  std::vector<bool> readByBackward_; ///< per forward value
  std::vector<bool> stored_;         ///< per forward value (SavedValues.h)
  std::set<NameId> names_;
  std::set<ValueId> placed_;
  NameId scope_;
  SourceRange where_;
  uint32_t statement_ = 0, group_ = 0;
};

} // namespace stg::autodiff

#endif
