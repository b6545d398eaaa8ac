//===- Reductions.cpp -------------------------------------------------------===//
#include "stg/Analysis/Reductions.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

bool reducesToShards(const Op &op) {
  return isCollective(op.kind) && op.kind != OpKind::AllGather && op.get<CollectiveFields>().isStorage &&
         isBackward(op.part);
}

bool addsShards(const Body &body, const BodyKernels &kernels, const Kernel &kernel) {
  const Op &first = body.op(kernel.ops.front());
  bool adds = llvm::any_of(kernel.ops, [&](OpId id) { return body.op(id).kind == OpKind::Accumulate; });
  bool isCast = first.kind == OpKind::Map && first.get<MapFields>().fn == MapFn::Cast;
  if (!adds || (first.kind != OpKind::Accumulate && !isCast))
    return false;
  const Op &source = body.op(body.value(kernels.source[first.operands[0].index]).def);
  const auto *collective = std::get_if<CollectiveFields>(&source.fields);
  return collective && collective->isStorage;
}

} // namespace stg
