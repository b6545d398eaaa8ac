//===- ActionOrder.cpp ------------------------------------------------------===//
#include "ActionOrder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg {

namespace {

std::vector<NodePlace> placesOf(const BodyTemplate &body, Phase phase) {
  std::vector<NodePlace> places;
  for (uint32_t i = 0; i < body.of(phase).size(); ++i)
    places.push_back({phase, i});
  return places;
}

std::vector<NodePlace> placesOf(const BodyTemplate &body, ActionKind kind) {
  if (kind == ActionKind::Backward)
    return body.backward;
  return placesOf(body, kind == ActionKind::Forward     ? Phase::Forward
                        : kind == ActionKind::InputGrad ? Phase::InputGrad
                                                        : Phase::WeightGrad);
}

/// `units` in the order of their turns.
std::vector<OrderedNode> inTurns(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                 llvm::ArrayRef<UnitId> units,
                                 llvm::function_ref<std::vector<NodePlace>(const BodyTemplate &)> placesOf) {
  std::vector<std::vector<OrderedNode>> ahead(units.size()), inPlace(units.size()); // by turn
  for (uint32_t turn = 0; turn < units.size(); ++turn) {
    const BodyTemplate &body = *templates[program.units[units[turn].index].body.index];
    for (NodePlace place : placesOf(body))
      if (std::optional<uint32_t> turns = body.at(place).ahead) {
        uint32_t issued = turn - std::min(turn, *turns);
        ahead[issued].push_back({units[turn], place, units[issued]});
      } else {
        inPlace[turn].push_back({units[turn], place, units[turn]});
      }
  }
  std::vector<OrderedNode> order;
  for (uint32_t turn = 0; turn < units.size(); ++turn)
    for (const std::vector<OrderedNode> &nodes : {ahead[turn], inPlace[turn]})
      order.insert(order.end(), nodes.begin(), nodes.end());
  return order;
}

} // namespace

std::vector<OrderedNode> orderOf(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                 uint32_t first, uint32_t last, ActionKind kind) {
  std::vector<UnitId> units;
  for (uint32_t i = 0; i < last - first; ++i)
    units.push_back(UnitId(kind == ActionKind::Forward ? first + i : last - 1 - i));
  return inTurns(program, templates, units, [&](const BodyTemplate &body) { return placesOf(body, kind); });
}

std::vector<OrderedNode> orderOfStep(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                     llvm::ArrayRef<UnitId> units) {
  return inTurns(program, templates, units, [](const BodyTemplate &body) { return placesOf(body, Phase::Step); });
}

uint32_t prefetchOf(const Plan &plan) {
  uint32_t prefetch = 0;
  for (const StorageRule &rule : plan.storage)
    prefetch = std::max(prefetch, rule.prefetch);
  return prefetch;
}

} // namespace stg
