//===- LayoutOps.h - the ops that only change where a tensor is ---------------===//
// The values before and after are the same tensor: in another layout, or in another memory.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_LAYOUTOPS_H
#define STG_IR_LAYOUTOPS_H

#include "stg/IR/Program.h"

namespace stg {

/// Collectives, and what moves nothing between ranks: `convert` before it is one of them, `shard`, `demote`.
inline bool convertsLayout(OpKind kind) {
  switch (kind) {
  case OpKind::Convert:
  case OpKind::Shard:
  case OpKind::Demote:
  case OpKind::ReduceScatter:
  case OpKind::AllReduce:
  case OpKind::AllToAll:
  case OpKind::AllGather:
    return true;
  default:
    return false;
  }
}

/// Transfers between the device and the host.
inline bool isHostTransfer(OpKind kind) { return kind == OpKind::Store || kind == OpKind::Load; }

/// Whether the op brings a weight from its shards or from the host: a storage gather, a load, a cast of what these
/// bring.
inline bool bringsWeight(const Body &body, const Op &op) {
  if (op.kind == OpKind::Map && op.get<MapFields>().fn == MapFn::Cast)
    return bringsWeight(body, body.op(body.value(op.operands[0]).def));
  if (op.kind == OpKind::Load)
    return body.op(body.value(op.operands[0]).def).kind == OpKind::Weight;
  return op.kind == OpKind::AllGather && op.get<CollectiveFields>().isStorage;
}

/// Whether the value is in the memory of the host: what a store makes, or a weight or state that rests there.
inline bool isOnHost(const Body &body, ValueId value) {
  const Op &op = body.op(body.value(value).def);
  switch (op.kind) {
  case OpKind::Store:
    return true;
  case OpKind::Weight:
    return body.weights[op.get<SlotFields>().slot].host;
  case OpKind::State:
    return body.states[op.get<SlotFields>().slot].host;
  default:
    return false;
  }
}

} // namespace stg

#endif
