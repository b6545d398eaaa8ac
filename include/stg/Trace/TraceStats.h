//===- TraceStats.h - counts and sums over a trace set ---------------------===//
// Adds up nodes, operations and bytes of any producer's traces, by node type, by
// op kind and by collective, and with a machine the rooflines of each rank.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/DecodedNode.h"
#include "stg/Trace/Roofline.h"
#include <map>

namespace stg {

/// Sums over 100,000 ranks pass 2^64.
using TraceSum = unsigned __int128;

struct NodeTotals {
  uint64_t nodes = 0;
  /// Sum of `num_ops`.
  TraceSum flops = 0;
  /// Sum of `tensor_size` (compute, memory) or `comm_size` (communication).
  TraceSum bytes = 0;
};

struct RankTotals {
  uint32_t rank = 0;
  uint64_t nodes = 0;
  uint64_t fileBytes = 0;
  /// Sum of the rooflines of its compute nodes, in nanoseconds.
  uint64_t rooflineNs = 0;
  /// Compute nodes that have no roofline time (no operations).
  uint64_t untimed = 0;
};

class TraceStats {
public:
  explicit TraceStats(std::optional<Machine> machine) : machine_(machine) {}

  void beginRank(uint32_t rank, uint64_t fileBytes);
  void add(const DecodedNode &node);

  /// By name of the node type.
  const std::map<std::string, NodeTotals> &byType() const { return byType_; }
  /// Compute nodes, by `op_type`; `-` where a node has none.
  const std::map<std::string, NodeTotals> &byOp() const { return byOp_; }
  /// Collectives, by name.
  const std::map<std::string, NodeTotals> &byCollective() const { return byCollective_; }
  const std::vector<RankTotals> &ranks() const { return ranks_; }
  const std::optional<Machine> &machine() const { return machine_; }
  NodeTotals total() const;

private:
  std::optional<Machine> machine_;
  std::map<std::string, NodeTotals> byType_, byOp_, byCollective_;
  std::vector<RankTotals> ranks_;
};

} // namespace stg
