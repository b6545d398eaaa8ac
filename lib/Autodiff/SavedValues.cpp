//===- SavedValues.cpp ------------------------------------------------------===//
// Decided from the last forward op to the first: a value that is computed again makes its operands read, and they are
// met later. It is worth it if the operands that nothing else keeps are together no larger than the value itself.
//===----------------------------------------------------------------------===//
#include "SavedValues.h"
#include "stg/Analysis/Kernels.h"
#include "llvm/ADT/STLExtras.h"

namespace stg::autodiff {

/// Bytes and numbers of positions are kept: what they come from is larger.
static bool isCheap(const Op &op) {
  switch (op.kind) {
  case OpKind::Map:
    return isFloat(op.get<MapFields>().element);
  case OpKind::Masked:
  case OpKind::View:
  case OpKind::Stop:
  case OpKind::Broadcast:
    return true;
  default:
    return false;
  }
}

/// Nothing is kept for these: weights are there, the others are no data.
static bool isFreeToRead(OpKind kind) {
  return kind == OpKind::Weight || kind == OpKind::Constant || kind == OpKind::Iota;
}

std::vector<bool> storedByForward(const Body &body, IRContext &context) {
  std::vector<bool> stored(body.values.size(), false);
  BodyKernels kernels = groupKernels(body, context);
  for (const Kernel &kernel : kernels.kernels)
    for (ValueId value : kernel.writes)
      stored[value.index] = true;
  for (const Op &op : body.ops)
    for (ValueId result : op.results)
      if (!isCheap(op) || stored[kernels.source[result.index].index])
        stored[result.index] = true;
  return stored;
}

std::vector<bool> computedAgain(const Body &body, size_t forwardOps, std::vector<bool> read,
                                const std::vector<bool> &stored, IRContext &context) {
  auto bytes = [&](ValueId value) { return byteCount(*body.value(value).type, context.dims); };
  DimExpr nothing = context.dims.constant(int64_t(0));
  std::vector<bool> again(read.size(), false);
  for (size_t i = forwardOps; i-- > 0;) {
    const Op &op = body.ops[i];
    if (op.results.size() != 1)
      continue;
    ValueId value = op.results[0];
    if (!read[value.index] || stored[value.index])
      continue;
    DimExpr extra = nothing;
    llvm::SmallVector<ValueId, 4> seen;
    for (ValueId operand : op.operands) {
      if (read[operand.index] || llvm::is_contained(seen, operand) ||
          isFreeToRead(body.op(body.value(operand).def).kind))
        continue;
      seen.push_back(operand);
      extra = extra + bytes(operand);
    }
    std::optional<Rational> more = (bytes(value) - extra).rational();
    if (extra != nothing && (!more || more->numerator < 0))
      continue;
    again[value.index] = true;
    for (ValueId operand : op.operands)
      read[operand.index] = true;
  }
  return again;
}

} // namespace stg::autodiff
