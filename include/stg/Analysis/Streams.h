//===- Streams.h - ops whose operands come from other ranks in pieces -------===//
// `run attend as ring`: the all-gathers that bring K and V to the call, and the reduce-scatters that take dk and dv
// from the call of its gradient, run together with it. By meaning they are what they are; what moves is blocks.
//
// Ring, over n ranks (Liu et al. 2023, arXiv 2310.01889). The call has n steps. Each operand that is gathered travels:
// n-1 times a rank sends the block that it has to the next of its group, while it computes on it. Each result that is
// reduce-scattered travels behind: the contribution of step i >= 1 is added to the sum that comes from the rank before
// and sent on, so that the n-1st hop brings the sum of the others home, where that of step 0 has waited.
//
// Halo: the call has one step. Operands come from the ranks before, the nearest entries that the mask lets the rank's
// first query see; results go back. The group is taken as a circle, so that all ranks do the same: what the first ranks
// receive so is never looked at.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_STREAMS_H
#define STG_ANALYSIS_STREAMS_H

#include "stg/Analysis/Cost.h"
#include <map>

namespace stg {

/// One call with the collectives that run with it. All of these span the same ranks.
struct Stream {
  OpId call;
  RunAlgorithm algorithm = RunAlgorithm::Ring;
  AtomList atoms;
  llvm::SmallVector<OpId, 2> gathers;  ///< of its operands, in order
  llvm::SmallVector<OpId, 2> scatters; ///< of its results, in order
  uint32_t ranks = 0;
  /// Entries of a rank's own block, and of a halo: from the rank before, from the one before that, ...
  int64_t block = 0;
  llvm::SmallVector<int64_t, 2> halo;
  bool isCausalZigzag = false;

  bool isRing() const { return algorithm == RunAlgorithm::Ring; }
  /// Of the call.
  uint32_t steps() const { return isRing() ? ranks : 1; }
  /// Messages that each rank sends for one of its collectives.
  uint32_t hops() const { return isRing() ? ranks - 1 : static_cast<uint32_t>(halo.size()); }
  /// What one of them carries, as a share of a block: hops count from 1.
  int64_t entries(uint32_t hop) const { return isRing() ? block : halo[hop - 1]; }
};

/// What a kernel does in one step.
struct StepShare {
  uint64_t flops = 0, bytes = 0;
};

/// The streams of one body, Explicit or later.
class BodyStreams {
public:
  BodyStreams(const Program &program, const Body &body);

  llvm::ArrayRef<Stream> list() const { return streams_; }
  /// Of a call, or of a collective that runs with one; null for other ops.
  const Stream *of(OpId op) const;
  bool empty() const { return streams_.empty(); }

  /// What a rank keeps of the value, in bytes. Of what a ring brings: the block that it computes on and the one that
  /// arrives. Of a sum that travels: the rank's own share, the one in the making and the one that arrives. Of a halo's:
  /// what comes, and the own block of what goes. Of other values: all of it.
  DimExpr bytesOf(ValueId value) const;
  /// Bytes that one rank sends for a collective of a stream.
  DimExpr sentBytes(OpId collective) const;
  /// Of hop 1 and up, for the collective: of one message.
  DimExpr hopBytes(OpId collective, uint32_t hop) const;

private:
  DimExpr blockOf(OpId collective) const;

  const Body &body_;
  RankShare share_;
  DimContext &dims_;
  std::vector<Stream> streams_;
  std::map<uint32_t, uint32_t> ofOp_;
  std::map<uint32_t, OpId> ofValue_; ///< of what is held in part
};

/// `/2of4`: behind the name of a call that has several steps; from 0.
std::string stepSuffix(const Stream &stream, uint32_t step);
/// `/send(cp+1)/2of3`: behind the name of what moves; hops from 1.
std::string messageSuffix(const Stream &stream, OpKind collective, bool isSend, uint32_t hop, const Mesh &mesh);

/// The steps of a call, which add up to what it does. With causal `zigzag` the first has the diagonal: of the S + 1
/// queries' worth that a key meets it has b + 1, each other step b. Else they are even: an average where ranks differ.
std::vector<StepShare> sharesOf(const Stream &stream, uint64_t flops, uint64_t bytes);

} // namespace stg

#endif
