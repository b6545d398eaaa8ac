//===- Unroll.h - a program to the nodes of a rank --------------------------===//
// Needs    Typed (sizes are those of every rank), Explicit or Stored (sizes are those of one rank); with a pipeline,
//          Scheduled.
// Gives    nodes in issue order, ids from 1. A rank of a pipeline runs its list of actions: the forward of a stage's
//          units, or their backward in reverse. Without a pipeline that is per micro-batch the forward of all units,
//          then their backward. In the last backward of a stage the sync of each unit runs right behind it. Then the
//          sums of what several ranks hold, what computes on synchronised gradients, the sync of units that have only
//          that, and the optimizer's step of all units.
//          data_deps: the values read, in this unit, in others (saved values, cotangents, messages) or behind the
//          micro-batches (gradient buffers, scalars). ctrl_deps: one order of compute nodes, which is the schedule; one
//          of sends and collectives (ASTRA-sim), or one per process group and per receiver (Chakra); one of the
//          receives from each rank; one of the loads from the host and one of the stores. Nothing else, so that what
//          may overlap does. An overlapped pair of actions is one sequence: their nodes take turns in proportion to
//          their numbers.
//          Where loads of experts are uneven (Analysis/ExpertLoads.h), costs are those of the class. An all-to-all
//          between experts then is a collective with equal parts, or messages: receives and sends, nearest peers first.
// Keeps    names, operations and bytes of the kernels (Analysis/Kernels.h). A kernel without operations gets 1, because
//          readers divide by them; a node without dependencies gets enough bytes to last 1 ns (docs/traces.md).
// Refuses  E511 OffloadTarget, E751 NothingToTrace, E752 CountTooLarge. Warns W753 GroupTagsCollide.
// Cost     an op is visited once per body; a unit costs its nodes and slots, an action its nodes and messages.
// Tests    unittests/Trace/UnrollTest, TrainStepTest, PipelineTraceTest, test/Trace/routing*
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/Node.h"
#include "stg/Trace/ProcessGroups.h"
#include "stg/Trace/RankClasses.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace stg {

/// What nodes say beyond names, costs and dependencies.
enum class UnrollDetail : uint8_t { Costs, Annotations };

struct UnrollOptions {
  UnrollDetail detail = UnrollDetail::Costs;
  TraceTarget target = TraceTarget::AstraSim;
};

/// The nodes of all classes of ranks.
class Unroller {
public:
  /// `groups` are those of the program. Nothing on failure. All arguments outlive it.
  static std::unique_ptr<Unroller> create(const Program &program, const ProcessGroups &groups,
                                          const UnrollOptions &options, PassStats &stats, Diagnostics &diags);
  virtual ~Unroller() = default;

  virtual const RankClasses &rankClasses() const = 0;
  uint32_t classes() const { return rankClasses().count(); }
  /// Calls `consume` for each node of a step on the first rank of the class; what the node refers to is gone when
  /// `consume` returns. May be called for several classes at once, from several threads.
  virtual void run(uint32_t rankClass, llvm::function_ref<void(const TraceNode &)> consume) const = 0;
};

/// The nodes of the first rank of one class. Nothing is consumed on failure.
Outcome unroll(const Program &program, const ProcessGroups &groups, const UnrollOptions &options,
               llvm::function_ref<void(const TraceNode &)> consume, PassStats &stats, Diagnostics &diags,
               uint32_t rankClass = 0);

/// At a place of the pipeline.
uint32_t firstRankOf(const Program &program, uint32_t place);

} // namespace stg
