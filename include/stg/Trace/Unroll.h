//===- Unroll.h - a program to the nodes of one rank ------------------------===//
// Needs    Typed (sizes are those of every rank), or Explicit or later (sizes are those of one rank).
// Gives    nodes in issue order, ids from 1. Per micro-batch the forward of all units, then their backward in reverse;
//          in the last micro-batch the sync of each unit right behind its backward. Then what computes on synchronised
//          gradients, the sync of units that have only that, and the optimizer's step of all units.
//          data_deps: the values read, in this unit, in others (saved values, cotangents) or behind the micro-batches
//          (gradient buffers, scalars). ctrl_deps: one order of compute nodes, and one of collectives (ASTRA-sim) or
//          one per process group (Chakra); nothing else, so that what may overlap does.
// Keeps    names, operations and bytes of the kernels (Analysis/Kernels.h). A kernel without operations gets 1, because
//          readers divide by them; a node without dependencies gets enough bytes to last 1 ns (docs/traces.md).
// Refuses  E751 NothingToTrace, E752 CountTooLarge. Warns W753 GroupTagsCollide.
// Cost     an op is visited once per body; a unit costs its nodes and slots.
// Tests    unittests/Trace/UnrollTest
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/Node.h"
#include "stg/Trace/ProcessGroups.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg {

/// What nodes say beyond names, costs and dependencies.
enum class UnrollDetail : uint8_t { Costs, Annotations };

struct UnrollOptions {
  UnrollDetail detail = UnrollDetail::Costs;
  TraceTarget target = TraceTarget::AstraSim;
};

/// Calls `consume` for each node of a step on rank 0; what the node refers to is gone when `consume` returns. Other
/// ranks have the same nodes in other groups: `groups` are those of the program. Nothing is consumed on failure.
Outcome unroll(const Program &program, const ProcessGroups &groups, const UnrollOptions &options,
               llvm::function_ref<void(const TraceNode &)> consume, PassStats &stats, Diagnostics &diags);

} // namespace stg
