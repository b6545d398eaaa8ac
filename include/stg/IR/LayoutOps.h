//===- LayoutOps.h - the ops that only change a layout ------------------------===//
// What `insert-collectives` adds: the values before and after are the same tensor.
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

} // namespace stg

#endif
