//===- Unroll.h - a program to the nodes of one rank ------------------------===//
// Needs    Typed, one device (or all ranks the same): sizes are those of every rank.
// Gives    compute nodes in issue order: each kernel of each unit, in the order of the units. Ids count from 1.
// Keeps    names, operations and bytes of the kernels (Analysis/Kernels.h). A kernel without operations gets 1, because
//          readers divide by them; the first node gets enough bytes to last 1 ns (docs/traces.md).
// Refuses  E751 NothingToTrace, E752 CountTooLarge.
// Cost     an op is visited once per body; a unit costs its nodes and outputs.
// Tests    unittests/Trace/UnrollTest
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/Node.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg {

/// What nodes say beyond names, costs and dependencies.
enum class UnrollDetail : uint8_t { Costs, Annotations };

struct UnrollOptions {
  UnrollDetail detail = UnrollDetail::Costs;
  TraceTarget target = TraceTarget::AstraSim;
};

/// Calls `consume` for each node of a forward pass; what the node refers to is gone when `consume` returns. Nothing is
/// consumed on failure.
Outcome unrollForward(const Program &program, const UnrollOptions &options,
                      llvm::function_ref<void(const TraceNode &)> consume, PassStats &stats, Diagnostics &diags);

} // namespace stg
