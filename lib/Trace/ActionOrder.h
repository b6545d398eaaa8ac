//===- ActionOrder.h - the nodes of one action, in issue order --------------===//
#pragma once

#include "UnrollTemplates.h"
#include "stg/IR/Action.h"

namespace stg {

/// A node of an action. `turn`: the unit that computes when it is issued; weights are gathered, and what is on the host
/// is loaded, in the turn of a unit before their own.
struct OrderedNode {
  UnitId unit;
  NodePlace place;
  UnitId turn;
};

/// Units [first, last) forward, or backward in reverse. What is issued ahead is issued when the unit so many turns
/// before begins, or at the start.
std::vector<OrderedNode> orderOf(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                 uint32_t first, uint32_t last, ActionKind kind);

/// The optimizer's step of these units, in order.
std::vector<OrderedNode> orderOfStep(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                     llvm::ArrayRef<UnitId> units);

/// How many units ahead weights are gathered: the most that a rule of the plan says.
uint32_t prefetchOf(const Plan &plan);

} // namespace stg
