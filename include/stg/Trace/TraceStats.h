//===- TraceStats.h - counts and sums over a trace set ---------------------===//
// Adds up nodes, operations and bytes of any producer's traces, by node type, by
// op kind and by collective, and with a machine the rooflines of each rank. Ranks
// whose sums agree form a class; for each class, what it communicates by kind and
// group.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Analysis/Roofline.h"
#include "stg/Trace/CheckOptions.h"
#include "stg/Trace/DecodedNode.h"
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
  bool operator==(const NodeTotals &) const = default;
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

/// What a rank communicates in one way.
struct CommunicationKind {
  /// `ALL_GATHER`, `SEND`, ...
  std::string kind;
  /// `tp`, `dp*cp`, as our metadata has it; empty where unknown.
  std::string axes;
  /// Ranks of the group; 0 where unknown.
  size_t groupSize = 0;
  auto operator<=>(const CommunicationKind &) const = default;
};

/// Collectives and sends with uneven parts (`stg.true_bytes`, `stg.padded_bytes`).
struct UnevenTotals {
  uint64_t nodes = 0;
  TraceSum trueBytes = 0, paddedBytes = 0;
};

/// Ranks that do as much in the same ways.
struct RankClass {
  /// Ascending.
  std::vector<uint32_t> ranks;
  /// Of each of its ranks.
  NodeTotals total;
  std::map<CommunicationKind, NodeTotals> communication;
};

class TraceStats {
public:
  /// `groups`: the group file, if there is one.
  explicit TraceStats(std::optional<Machine> machine, std::optional<GroupTable> groups = std::nullopt);

  void beginRank(uint32_t rank, uint64_t fileBytes, const DecodedMetadata *metadata = nullptr);
  void add(const DecodedNode &node);
  void endRank();

  /// By name of the node type.
  const std::map<std::string, NodeTotals> &byType() const { return byType_; }
  /// Compute nodes, by `op_type`; `-` where a node has none.
  const std::map<std::string, NodeTotals> &byOp() const { return byOp_; }
  /// Collectives, by name.
  const std::map<std::string, NodeTotals> &byCollective() const { return byCollective_; }
  const UnevenTotals &uneven() const { return uneven_; }
  const std::vector<RankTotals> &ranks() const { return ranks_; }
  /// In order of their first ranks.
  const std::vector<RankClass> &classes() const { return classes_; }
  const std::optional<Machine> &machine() const { return machine_; }
  NodeTotals total() const;

private:
  CommunicationKind kindOf(const DecodedNode &node) const;

  std::optional<Machine> machine_;
  std::map<int64_t, size_t> groupSizes_;
  std::vector<RankClass> classes_;
  // The rank being read.
  RankClass current_;
  std::vector<std::string> groupKinds_;
  uint64_t groupStride_ = 1;
  std::map<std::string, NodeTotals> byType_, byOp_, byCollective_;
  UnevenTotals uneven_;
  std::vector<RankTotals> ranks_;
};

} // namespace stg
