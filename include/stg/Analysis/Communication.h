//===- Communication.h - what a program sends, per rank and step -----------===//
// One row per collective op of a body, so the cost is that of the distinct bodies. Bytes are what trace.md calls
// comm_size: the whole input buffer of a rank, and of an all-gather the shard that it contributes.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_COMMUNICATION_H
#define STG_ANALYSIS_COMMUNICATION_H

#include "stg/IR/Program.h"

namespace stg {

struct CommunicationRow {
  BodyId body;
  OpId op;
  /// Times per step of one rank: units of the body, times the micro-batches unless the part is Sync or Step.
  int64_t count = 0;
  /// Of one time, in bytes of this rank's input; of a ring or a halo, of what it sends.
  DimExpr bytes;
  /// Of one time, in bytes of the whole tensor that the group holds together, before it is split over other atoms: what
  /// the row's layouts divide. For formulas.
  DimExpr globalBytes;
  /// Number of ranks in each group.
  int64_t groupSize = 1;
  /// Of what runs as a ring or a halo: messages that each rank sends at one time, `bytes` together. 0: a collective.
  int64_t messages = 0;
};

/// Whether the op sends anything: all-gather, reduce-scatter, all-reduce, all-to-all.
bool communicates(OpKind kind);

/// Rows in the order of bodies (by their first unit) and ops. `program` must be Explicit or later. With a pipeline
/// those of the ranks at one place of it: without what it adds itself, messages and sums.
std::vector<CommunicationRow> communicationOf(const Program &program, uint32_t pipelineRank = 0);

/// What the ranks at one place of the pipeline send to others in a step, in bytes, and how often.
struct MessageSum {
  int64_t count = 0;
  DimExpr bytes;
};
MessageSum messagesOf(const Program &program, uint32_t pipelineRank);
/// Bytes of the gradient buffers of a sum on one rank.
DimExpr bytesOf(const BufferSum &sum, const Program &program);

} // namespace stg

#endif
