//===- Storage.cpp - what a rank keeps from micro-batch to micro-batch ------===//
#include "stg/Analysis/Storage.h"
#include "stg/Analysis/Cost.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

namespace stg {

namespace {

class StorageCounter {
public:
  StorageCounter(const Program &program, uint32_t pipelineRank)
      : program_(program), pipelineRank_(pipelineRank), share_(program) {
    DimExpr zero = program.context->dims.constant(int64_t(0));
    sum_ = {zero, zero, zero, zero, zero};
  }

  StoredBytes run() {
    std::vector<BodyRuns> runs = runsPerBody(program_, pipelineRank_);
    for (uint32_t id = 0; id < runs.size(); ++id)
      if (runs[id].inStep != 0)
        addOwned(program_.bodies[id], runs[id].inStep);
    for (uint32_t unit = 0; unit < program_.units.size(); ++unit)
      if (!program_.pipeline || program_.pipeline->runsOn(UnitId(unit), pipelineRank_))
        addShared(program_.units[unit]);
    return sum_;
  }

private:
  using Key = std::pair<uint32_t, uint32_t>; // (unit, slot), or (kGlobal, id)
  static constexpr uint32_t kGlobal = ~0u;

  void addWeight(const WeightSlot &slot, int64_t times) {
    DimExpr &sum = slot.host ? sum_.host : sum_.weights;
    sum = sum + share_.bytesOf(slot.type, slot.layout) * times;
  }
  void addGradient(const WeightSlot &slot, int64_t times) {
    if (slot.trained)
      sum_.gradients = sum_.gradients + share_.bytesOf({slot.gradient, slot.type.dims}, slot.buffer) * times;
  }

  void addOwned(const Body &body, int64_t times) {
    for (const WeightSlot &slot : body.weights)
      if (slot.owned) {
        addWeight(slot, times);
        addGradient(slot, times);
      }
    std::vector<bool> ofOptimizer(body.states.size(), false);
    for (const Op &op : body.ops)
      if (op.kind == OpKind::State && op.part == Part::Step)
        ofOptimizer[op.get<SlotFields>().slot] = true;
    for (size_t i = 0; i < body.states.size(); ++i)
      if (const StateSlot &slot = body.states[i]; slot.owned) {
        DimExpr &sum = slot.host ? sum_.host : ofOptimizer[i] ? sum_.optimizer : sum_.states;
        sum = sum + share_.bytesOf(slot.type, slot.layout) * times;
      }
  }

  void addShared(const Unit &unit) {
    const Body &body = program_.body(unit);
    size_t binding = 0;
    for (const WeightSlot &slot : body.weights) {
      if (slot.owned)
        continue;
      const WeightBinding &bound = unit.weights[binding++];
      auto [entry, isNew] = weights_.try_emplace(keyOf<WeightId>(bound));
      Copies &copies = entry->second;
      if (const auto *own = std::get_if<UnitSlot>(&bound); own && isNew)
        copies.push_back(&program_.body(program_.units[own->unit.index]).weights[own->slot]);
      bool hasWeight = llvm::any_of(copies, [&](const WeightSlot *other) { return other->layout == slot.layout; });
      bool hasGradient = llvm::any_of(copies, [&](const WeightSlot *other) {
        return other->trained == slot.trained && other->layout == slot.layout && other->buffer == slot.buffer;
      });
      if (!hasWeight)
        addWeight(slot, 1);
      if (!hasGradient) {
        addGradient(slot, 1);
        copies.push_back(&slot);
      }
    }
    binding = 0;
    for (const StateSlot &slot : body.states) {
      if (slot.owned)
        continue;
      const StateBinding &bound = unit.states[binding++];
      if (std::holds_alternative<StateId>(bound) && states_.insert(keyOf<StateId>(bound)).second)
        sum_.states = sum_.states + share_.bytesOf(slot.type, slot.layout);
    }
  }

  template <class GlobalId, class Binding> static Key keyOf(const Binding &binding) {
    if (const auto *global = std::get_if<GlobalId>(&binding))
      return {kGlobal, global->index};
    const auto &own = std::get<UnitSlot>(binding);
    return {own.unit.index, own.slot};
  }

  const Program &program_;
  uint32_t pipelineRank_;
  RankShare share_;
  StoredBytes sum_;
  /// One slot for each layout and buffer in which a shared weight was found so far.
  using Copies = llvm::SmallVector<const WeightSlot *, 2>;
  std::map<Key, Copies> weights_;
  std::set<Key> states_;
};

} // namespace

StoredBytes storedBytes(const Program &program, uint32_t pipelineRank) {
  return StorageCounter(program, pipelineRank).run();
}

} // namespace stg
