//===- StreamNodes.h - a ring or a halo as nodes ----------------------------===//
// The nodes of one call and of the collectives that run with it (Analysis/Streams.h), in issue order, before they have
// names and sizes. Sends and receives of one message stand in the same place on all ranks of the group.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Analysis/Streams.h"
#include "stg/Trace/Node.h"

namespace stg {

struct StreamNode {
  TraceNodeKind kind = TraceNodeKind::Compute;
  /// Of messages: the collective that it is part of, and the hop, from 1. Of compute nodes: the step, from 0.
  OpId moved;
  uint32_t number = 0;
  /// Of messages: the other end is the member of the group so many places further, around.
  uint32_t shift = 0;
  /// Of a receive: the send of this rank in the same place.
  uint32_t send = 0;
  /// Nodes of the stream that it waits for. A send of hop 1 of an operand, and step 0, need what the rank has itself.
  llvm::SmallVector<uint32_t, 4> after = {};

  bool isFirstOf() const { return number == (kind == TraceNodeKind::Compute ? 0u : 1u); }
};

struct StreamNodes {
  std::vector<StreamNode> nodes;
  uint32_t lastStep = 0; ///< the node
  /// By collective (OpId::index): the receives behind which all of it is there, the last one last.
  std::map<uint32_t, llvm::SmallVector<uint32_t, 2>> arrived;
};

StreamNodes nodesOf(const Stream &stream);

} // namespace stg
