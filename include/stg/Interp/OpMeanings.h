//===- OpMeanings.h - what each op computes, on numbers --------------------===//
// One pure function per meaning of Ops.def. Operands align by dim name; a result's dims stand in the order that
// Program.h states for the kind. On a part of a tensor they compute the part of the result: a sum or maximum over held
// positions only, 0 for a gather from a position that another rank holds. All throw InterpFault on operands that do not
// fit, and where a part does not suffice.
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_OPMEANINGS_H
#define STG_INTERP_OPMEANINGS_H

#include "stg/IR/Program.h"
#include "stg/Interp/Tensor.h"
#include <limits>

namespace stg::interp {

/// `fn` of numbers. One operand more than `fn` has is a fault.
double valueOf(MapFn fn, llvm::ArrayRef<double> operands);
/// `value` as a number of the element type: whole (towards zero) for integers, 0 or 1 for bool, unrounded for floats.
double stored(ElementType element, double value);
/// The nearest number of an element type of eight bits (of two the even one; what is too large becomes the largest).
/// Other types take the number as it is.
double nearest(ElementType element, double value);

/// A mask with the numbers that its parameters stand for.
struct Visibility {
  MaskKind kind = MaskKind::Full;
  llvm::SmallVector<int64_t, 4> parameters;
  /// Whether query i of `queries` sees key j of `keys`. The queries are the last positions of the keys; those of
  /// `requests` are the last of each request.
  bool sees(int64_t i, int64_t j, int64_t queries, int64_t keys) const;
};

Tensor iota(TensorDim dim, int64_t start, ElementType element);
Tensor contract(llvm::ArrayRef<Tensor> operands, llvm::ArrayRef<NameId> reduced, ElementType element);
Tensor map(MapFn fn, llvm::ArrayRef<Tensor> operands, ElementType element);
Tensor reduce(ReduceFn fn, const Tensor &operand, llvm::ArrayRef<NameId> reduced, ElementType element);
/// Keeps the element at flat index n (row-major in the whole tensor) iff uniform(hashOf(key, n)) >= probability.
Tensor dropout(const Tensor &operand, double probability, uint64_t key);
/// What is not seen becomes `unseen`.
Tensor masked(Tensor operand, const Visibility &mask, NameId query, NameId key,
              double unseen = -std::numeric_limits<double>::infinity());

/// One item of a view; `to` has sizes and positions.
struct ViewStep {
  llvm::SmallVector<NameId, 2> from;
  TensorDims to;
};
/// `order` empty: the order that the steps leave.
Tensor view(const Tensor &operand, llvm::ArrayRef<ViewStep> steps, llvm::ArrayRef<NameId> order);
Tensor concat(llvm::ArrayRef<Tensor> operands, NameId dim, ElementType element);
Tensor at(const Tensor &operand, NameId dim, int64_t position);
Tensor slice(const Tensor &operand, NameId from, TensorDim to, int64_t start);
/// Zeros along `to`, the operand at positions `start` on of what it calls `from` (invalid: it has no such dim, and the
/// new one comes last).
Tensor pad(const Tensor &operand, NameId from, TensorDim to, int64_t start);
/// `dims` has the operand's dims and more.
Tensor broadcast(const Tensor &operand, llvm::ArrayRef<TensorDim> dims);
Tensor gather(const Tensor &data, const Tensor &index, NameId dim);
Tensor scatter(const Tensor &data, const Tensor &index, TensorDim dim, llvm::ArrayRef<NameId> replaced,
               ElementType element);
Tensor append(const Tensor &state, const Tensor &addition, NameId from, NameId into);

/// Mixes `more` into a hash; the same on every machine (SplitMix64, Steele et al. 2014).
uint64_t hashOf(uint64_t hash, uint64_t more);
uint64_t hashOf(uint64_t hash, llvm::StringRef text);
/// A number of [0, 1) out of a hash.
double uniform(uint64_t hash);

} // namespace stg::interp

#endif
