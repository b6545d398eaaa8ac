//===- GradientFlow.cpp -----------------------------------------------------===//
// Two walks over the units. Forward: which values vary with a trained weight. Backward: which of them the loss depends
// on; a value needs a cotangent if it is both. When a unit is met in the backward walk, all readers of its outputs have
// been, so the list of readers that give a cotangent to an output grows from the back: its head is the unit that the
// output's own unit reads from, and each reader adds to what the next one found.
//
// Bodies are walked once per distinct question, and a unit costs its slots only.
//===----------------------------------------------------------------------===//
#include "GradientFlow.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

namespace stg::autodiff {

bool flowsTo(const Op &op, size_t i) {
  switch (op.kind) {
  case OpKind::Stop:
  case OpKind::Append:
  case OpKind::Update:
    return false;
  case OpKind::Gather:
  case OpKind::Scatter:
    return i == 0;     // not through the index
  case OpKind::Call: { // `dk = none`; a call without any gradient is refused when one is asked for
    const auto &call = op.get<CallFields>();
    return !call.grad.valid() || (i < call.gradOutputs.size() && call.gradOutputs[i] >= 0);
  }
  case OpKind::Map:
    switch (op.get<MapFields>().fn) {
    case MapFn::WherePositive:
    case MapFn::WhereEqual:
      return i == 0; // the others only choose
    default:
      return true;
    }
  default:
    return true;
  }
}

Bits variedValues(const Body &body, const Bits &trained, const Bits &inputs) {
  Bits varied(body.values.size(), false);
  for (const Op &op : body.ops) {
    bool any = false;
    if (op.kind == OpKind::Weight)
      any = trained[op.get<SlotFields>().slot];
    else if (op.kind == OpKind::Input)
      any = inputs[op.get<SlotFields>().slot];
    for (size_t i = 0; i < op.operands.size(); ++i)
      any |= flowsTo(op, i) && varied[op.operands[i].index];
    for (ValueId result : op.results)
      varied[result.index] = any && isFloat(body.value(result).type->element);
  }
  return varied;
}

namespace {

/// What the backward of a body reaches: input and weight slots.
struct Reached {
  Bits inputs, weights;
};

/// A weight by the slot that owns it, or of the program (an invalid unit).
using WeightKey = std::pair<UnitId, uint32_t>;

class FlowPlanner {
public:
  FlowPlanner(const Program &program, PassStats &stats) : program_(program), stats_(stats) {}

  GradientFlow run() {
    size_t count = program_.units.size();
    flow_.firstReader.resize(count);
    flow_.nextReader.resize(count);
    for (uint32_t u = 0; u < count; ++u)
      walkForward(UnitId(u));
    reached_.resize(count);
    for (uint32_t u = static_cast<uint32_t>(count); u-- > 0;)
      walkBackward(UnitId(u));
    flow_.taskOfUnit.resize(count);
    std::map<BackwardTask, uint32_t> known;
    for (uint32_t u = 0; u < count; ++u) {
      BackwardTask task = taskOf(UnitId(u));
      auto [entry, isNew] = known.try_emplace(task, flow_.tasks.size());
      if (isNew)
        flow_.tasks.push_back(std::move(task));
      flow_.taskOfUnit[u] = entry->second;
    }
    return std::move(flow_);
  }

private:
  const Body &bodyOf(UnitId id) const { return program_.body(program_.units[id.index]); }

  WeightKey weightOf(UnitId id, uint32_t slot) const {
    const Body &body = bodyOf(id);
    if (body.weights[slot].owned)
      return {id, slot};
    auto shared = llvm::count_if(llvm::ArrayRef(body.weights).take_front(slot),
                                 [](const WeightSlot &each) { return !each.owned; });
    const WeightBinding &binding = program_.units[id.index].weights[static_cast<size_t>(shared)];
    if (const auto *owner = std::get_if<UnitSlot>(&binding))
      return {owner->unit, owner->slot};
    return {UnitId(), std::get<WeightId>(binding).index};
  }

  /// Whether the plan trains the weight. Rules answer alike for all units of a body, so an owned slot asks once.
  bool isTrained(const WeightKey &key) {
    bool owned = key.first.valid();
    std::pair<uint32_t, uint32_t> question{owned ? program_.units[key.first.index].body.index : ~0u, key.second};
    auto [entry, isNew] = trains_.try_emplace(question, false);
    if (!isNew)
      return entry->second;
    TensorType type = owned ? bodyOf(key.first).weights[key.second].type : program_.weights[key.second].type;
    std::string path = owned ? program_.unitPath(program_.units[key.first.index]) + "." +
                                   program_.text(bodyOf(key.first).weights[key.second].name).str()
                             : program_.text(program_.weights[key.second].name).str();
    const OptimizerRule *rule = optimizerOf(program_.plan, path);
    return entry->second = rule && rule->name && isFloat(type.element);
  }

  void walkForward(UnitId id) {
    const Unit &unit = program_.units[id.index];
    const Body &body = program_.body(unit);
    Bits trained, inputs;
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      trained.push_back(isTrained(weightOf(id, slot)));
    for (const InputBinding &binding : unit.inputs) {
      const auto *from = std::get_if<UnitValue>(&binding);
      inputs.push_back(from && variedOutputs_[from->unit.index][from->output]);
    }
    auto [question, isNew] = variedIds_.try_emplace({unit.body.index, trained, inputs}, varied_.size());
    if (isNew) {
      stats_.opVisits += body.ops.size();
      varied_.push_back(variedValues(body, trained, inputs));
    }
    variedOfUnit_.push_back(question->second);
    const Bits &values = varied_[question->second];
    Bits outputs;
    for (const BodyOutput &output : body.outputs)
      outputs.push_back(values[output.value.index]);
    variedOutputs_.push_back(std::move(outputs));
    flow_.firstReader[id.index].resize(body.outputs.size());
    flow_.nextReader[id.index].resize(body.inputs.size());
  }

  /// The slots that varied values lead to, from the losses and the outputs that have a cotangent.
  Reached reachedSlots(const Body &body, const Bits &varied, const Bits &outputs) {
    Bits live(body.values.size(), false);
    for (size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o])
        live[body.outputs[o].value.index] = true;
    for (ValueId loss : body.losses)
      live[loss.index] = varied[loss.index];
    Reached reached{Bits(body.inputs.size(), false), Bits(body.weights.size(), false)};
    for (const Op &op : llvm::reverse(body.ops)) {
      ++stats_.opVisits;
      if (llvm::none_of(op.results, [&](ValueId result) { return live[result.index]; }))
        continue;
      if (op.kind == OpKind::Input)
        reached.inputs[op.get<SlotFields>().slot] = true;
      if (op.kind == OpKind::Weight)
        reached.weights[op.get<SlotFields>().slot] = true;
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (flowsTo(op, i) && varied[op.operands[i].index])
          live[op.operands[i].index] = true;
    }
    return reached;
  }

  Bits liveOutputs(UnitId id) const {
    Bits outputs;
    for (const Reader &reader : flow_.firstReader[id.index])
      outputs.push_back(reader.unit.valid());
    return outputs;
  }

  void walkBackward(UnitId id) {
    const Unit &unit = program_.units[id.index];
    const Body &body = program_.body(unit);
    Bits outputs = liveOutputs(id);
    auto [question, isNew] = reachedIds_.try_emplace({variedOfUnit_[id.index], outputs}, reachedSets_.size());
    if (isNew)
      reachedSets_.push_back(reachedSlots(body, varied_[variedOfUnit_[id.index]], outputs));
    reached_[id.index] = question->second;
    const Reached &reached = reachedSets_[question->second];
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      if (reached.weights[slot])
        reachedWeights_.insert(weightOf(id, slot));
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot) {
      if (!reached.inputs[slot] || leaderOf(id, slot) != slot)
        continue;
      UnitValue from = std::get<UnitValue>(unit.inputs[slot]);
      Reader &first = flow_.firstReader[from.unit.index][from.output];
      flow_.nextReader[id.index][slot] = first;
      first = {id, slot};
    }
  }

  /// The first slot with a cotangent that reads what `slot` reads.
  uint32_t leaderOf(UnitId id, uint32_t slot) const {
    const Unit &unit = program_.units[id.index];
    const Reached &reached = reachedSets_[reached_[id.index]];
    for (uint32_t i = 0; i < slot; ++i)
      if (reached.inputs[i] && unit.inputs[i] == unit.inputs[slot])
        return i;
    return slot;
  }

  BackwardTask taskOf(UnitId id) const {
    const Body &body = bodyOf(id);
    const Reached &reached = reachedSets_[reached_[id.index]];
    BackwardTask task;
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      task.trained.push_back(reachedWeights_.count(weightOf(id, slot)) != 0);
    task.outputs = liveOutputs(id);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot) {
      task.leaders.push_back(reached.inputs[slot] ? leaderOf(id, slot) : BackwardTask::kNone);
      task.accumulates.push_back(flow_.nextReader[id.index][slot].unit.valid());
    }
    return task;
  }

  const Program &program_;
  PassStats &stats_;
  GradientFlow flow_;
  std::map<std::pair<uint32_t, uint32_t>, bool> trains_;         // body or ~0, slot or weight
  std::map<std::tuple<uint32_t, Bits, Bits>, size_t> variedIds_; // body, trained, inputs -> index into varied_
  std::vector<Bits> varied_;                                     // per value
  std::vector<size_t> variedOfUnit_;
  std::vector<Bits> variedOutputs_;                      // per unit
  std::map<std::pair<size_t, Bits>, size_t> reachedIds_; // index into varied_, outputs -> into reachedSets_
  std::vector<Reached> reachedSets_;
  std::vector<size_t> reached_; // per unit
  std::set<WeightKey> reachedWeights_;
};

} // namespace

GradientFlow planBackward(const Program &program, PassStats &stats) { return FlowPlanner(program, stats).run(); }

} // namespace stg::autodiff
