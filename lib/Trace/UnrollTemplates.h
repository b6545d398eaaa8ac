//===- UnrollTemplates.h - what the units of one body have in common --------===//
// A body's kernels and collectives with everything that is the same in each of its units and micro-batches: costs, the
// ends of names, dependencies as places inside the body or as slots. A unit adds its path and the ids of its first
// nodes.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Analysis/ExpertLoads.h"
#include "stg/Trace/ProcessGroups.h"
#include "stg/Trace/Unroll.h"
#include <array>

namespace stg {

/// When a node runs: per micro-batch, or once per step. A full backward runs InputGrad and WeightGrad as one.
/// Gather: before the first forward.
/// AfterSync: what computes on synchronised gradients (their norm); it waits until all backward is done, or it would
/// hold up the backward of the units that follow.
enum class Phase : uint8_t { Forward, InputGrad, WeightGrad, Gather, Sync, AfterSync, Step };
inline constexpr size_t kPhases = 7;
/// Phases that run per micro-batch stand first.
inline constexpr size_t kBatchPhases = 3;
inline bool runsPerBatch(Phase phase) { return static_cast<size_t>(phase) < kBatchPhases; }

/// A node among those of its unit in one phase.
struct NodePlace {
  Phase phase = Phase::Forward;
  uint32_t index = 0;
  bool operator==(const NodePlace &) const = default;
};

/// Where a value comes from, as seen by a body.
struct ValueOrigin {
  enum class Kind : uint8_t {
    /// What the node at `place` makes.
    Node,
    /// Input, weight or state slot `index`; the gradient buffer of weight slot `index`; scalar `index` of the program.
    Input,
    Weight,
    State,
    Gradient,
    Scalar,
    /// A constant or iota.
    Nowhere
  };
  Kind kind = Kind::Nowhere;
  uint32_t index = 0;
  NodePlace place = {};
};

struct TensorTemplate {
  ValueOrigin origin;
  /// Path inside the unit, of results of nodes; no two of a body have one.
  std::string name;
  uint64_t bytes = 0;
  /// Of tokens at experts: how their number differs from rank to rank.
  uint32_t split = ExpertLoads::kEven;
};

struct NodeTemplate {
  /// Among the nodes of all bodies, from 1.
  uint32_t number = 0;
  TraceNodeKind kind = TraceNodeKind::Compute;
  /// `F`, `B`, `W`, `R`, `S` (trace.md 4).
  char action = 'F';
  /// Path inside the unit of what it computes; communication has its kind and axes behind it.
  std::string name;
  llvm::StringRef opType;
  uint64_t flops = 0;
  uint64_t bytes = 0;
  /// What a reader needs.
  uint64_t leastBytes = 1;
  /// What of the operations and bytes follows the tokens that the experts of a rank get.
  struct Uneven {
    uint32_t split = ExpertLoads::kEven;
    uint64_t flops = 0, bytes = 0;
  };
  llvm::SmallVector<Uneven, 1> uneven;
  /// A collective between ranks that get different numbers of tokens.
  std::optional<ExpertExchange> exchange;
  /// It is written as messages; its axes then are no part of its name.
  bool isMessages = false;
  std::string axes;
  TraceCollective collective = TraceCollective::AllReduce;
  uint32_t groupKind = 0;
  /// Of messages inside a group: as in TraceNode; of a receive, the send whose tag it has.
  uint32_t shift = 0;
  NodePlace send = {};
  /// What brings weights from their shards, or anything from the host: issued in the turn of the unit so many before
  /// its own. Nothing: in its place.
  std::optional<uint32_t> ahead;
  /// Transfers to and from the host: the order of compute nodes does not wait for it.
  bool overlaps = true;
  /// A collective that brings gradients to their shards: one may be under way while the next unit computes backward.
  bool reducesShards = false;
  /// Adds shards of gradients when they are there: the order of compute nodes does not wait for it.
  bool addsShards = false;

  // What it depends on: nodes of this unit; input slots; gradient buffers by weight slot; scalars of the step.
  llvm::SmallVector<NodePlace, 4> nodes;
  llvm::SmallVector<uint32_t, 2> inputSlots;
  llvm::SmallVector<uint32_t, 1> buffersRead, scalarsRead;
  /// What later readers wait for, besides values.
  llvm::SmallVector<uint32_t, 1> buffersWritten, scalarsWritten;

  // Only with UnrollDetail::Annotations.
  std::vector<int64_t> extents;
  llvm::StringRef dtype;
  llvm::StringRef part;
  std::string source;
  std::vector<TensorTemplate> reads, writes;
};

struct BodyTemplate {
  /// By phase, in issue order.
  std::array<std::vector<NodeTemplate>, kPhases> nodes;
  /// The nodes of a full backward, in issue order.
  std::vector<NodePlace> backward;
  /// One per output of the body.
  std::vector<TensorTemplate> outputs;
  ExpertLoads loads;

  const std::vector<NodeTemplate> &of(Phase phase) const { return nodes[static_cast<size_t>(phase)]; }
  const NodeTemplate &at(NodePlace place) const { return of(place.phase)[place.index]; }
  /// Of units with sync and step only (of weights of the program, of the loss) there is nothing in micro-batches.
  bool runsInBatches() const { return !of(Phase::Forward).empty() || !backward.empty(); }
};

/// None if a count does not fit; that has been reported.
std::optional<BodyTemplate> makeTemplate(const Program &program, const Body &body, const ProcessGroups &groups,
                                         UnrollDetail detail, PassStats &stats, Diagnostics &diags);

} // namespace stg
