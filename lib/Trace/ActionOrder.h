//===- ActionOrder.h - the nodes of one action, in issue order --------------===//
#pragma once

#include "UnrollTemplates.h"
#include "stg/IR/Action.h"

namespace stg {

/// A node of an action. `turn`: the unit that computes when it is issued; weights are gathered in the turn of a unit
/// before their own.
struct OrderedNode {
  UnitId unit;
  NodePlace place;
  UnitId turn;
};

/// Units [first, last) forward, or backward in reverse. What gathers the weights of a unit is issued when the unit
/// `prefetch` turns before it begins, or at the start.
std::vector<OrderedNode> orderOf(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                 uint32_t first, uint32_t last, ActionKind kind);

/// How many units ahead weights are gathered: the most that a rule of the plan says.
uint32_t prefetchOf(const Plan &plan);

} // namespace stg
