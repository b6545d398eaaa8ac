//===- ActionOrder.cpp ------------------------------------------------------===//
#include "ActionOrder.h"

namespace stg {

namespace {

std::vector<NodePlace> placesOf(const BodyTemplate &body, ActionKind kind) {
  if (kind == ActionKind::Backward)
    return body.backward;
  Phase phase = kind == ActionKind::Forward     ? Phase::Forward
                : kind == ActionKind::InputGrad ? Phase::InputGrad
                                                : Phase::WeightGrad;
  std::vector<NodePlace> places;
  for (uint32_t i = 0; i < body.of(phase).size(); ++i)
    places.push_back({phase, i});
  return places;
}

} // namespace

std::vector<OrderedNode> orderOf(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                                 uint32_t first, uint32_t last, ActionKind kind) {
  uint32_t count = last - first, gathered = 0, prefetch = prefetchOf(program.plan);
  auto unitAt = [&](uint32_t turn) { return UnitId(kind == ActionKind::Forward ? first + turn : last - 1 - turn); };
  std::vector<OrderedNode> order;
  auto add = [&](UnitId unit, bool gathers, UnitId turn) {
    const BodyTemplate &body = *templates[program.units[unit.index].body.index];
    for (NodePlace place : placesOf(body, kind))
      if (body.at(place).gathersWeights == gathers)
        order.push_back({unit, place, turn});
  };
  for (uint32_t turn = 0; turn < count; ++turn) {
    for (; gathered < count && gathered <= uint64_t{turn} + prefetch; ++gathered)
      add(unitAt(gathered), true, unitAt(turn));
    add(unitAt(turn), false, unitAt(turn));
  }
  return order;
}

uint32_t prefetchOf(const Plan &plan) {
  uint32_t prefetch = 0;
  for (const StorageRule &rule : plan.storage)
    prefetch = std::max(prefetch, rule.prefetch);
  return prefetch;
}

} // namespace stg
