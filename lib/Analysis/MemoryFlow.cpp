//===- MemoryFlow.cpp -------------------------------------------------------===//
#include "MemoryFlow.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

/// What an action runs of a unit: what gathers weights, and the rest.
struct ActionRuns {
  MemoryRun gathers, rest;
};

ActionRuns runsOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return {MemoryRun::ForwardGathers, MemoryRun::Forward};
  case ActionKind::Backward:
    return {MemoryRun::BackwardGathers, MemoryRun::Backward};
  case ActionKind::InputGrad:
    return {MemoryRun::InputGathers, MemoryRun::InputGrad};
  case ActionKind::WeightGrad:
    return {MemoryRun::WeightGathers, MemoryRun::WeightGrad};
  }
  return {MemoryRun::ForwardGathers, MemoryRun::Forward};
}

} // namespace

MemoryFlow::MemoryFlow(const Program &program, llvm::ArrayRef<std::optional<BodyProfile>> profiles)
    : program_(program), profiles_(profiles) {
  if (program.pipeline) {
    firstUnits_ = program.pipeline->firstUnits;
  } else {
    firstUnits_ = {0, static_cast<uint32_t>(program.units.size())};
    for (uint32_t batch = 0; batch < std::max<int64_t>(program.plan.microBatches, 1); ++batch)
      for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
        if (kind == ActionKind::Forward || program.mode == Mode::Train)
          list_.push_back({{kind, 0, batch}});
  }
  followAll();
  auto stages = static_cast<uint32_t>(firstUnits_.size() - 1);
  actions_.resize(stages);
  arrivals_.resize(stages);
  for (const StorageRule &rule : program.plan.storage)
    prefetch_ = std::max(prefetch_, rule.prefetch);
  for (const OffloadRule &rule : program.plan.offload)
    prefetch_ = std::max(prefetch_, rule.prefetch);
  for (uint32_t stage = 0; stage < stages; ++stage)
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward, ActionKind::InputGrad, ActionKind::WeightGrad}) {
      findLegs(stage, kind);
      findDepartures(stage, kind);
    }
  if (program.pipeline)
    orderMessages();
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

/// Values come from earlier units, cotangents and accumulators from later ones.
void MemoryFlow::followAll() {
  for (const Unit &unit : program_.units) {
    firstInput_.push_back(inputs_.size());
    inputs_.resize(inputs_.size() + unit.inputs.size());
  }
  auto follow = [&](uint32_t unit, bool values) {
    const Body &body = program_.body(program_.units[unit]);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot) {
      const auto *from = std::get_if<UnitValue>(&program_.units[unit].inputs[slot]);
      if (!from || (body.inputs[slot].role == SlotRole::Value) != values)
        continue;
      MemoryOrigin &origin = inputs_[firstInput_[unit] + slot];
      if (std::optional<uint32_t> transfer = transferOf(*from, UnitId(unit)))
        origin = {MemoryOrigin::Kind::Message, from->unit, *transfer};
      else
        origin = output(*from);
    }
  };
  auto count = static_cast<uint32_t>(program_.units.size());
  for (uint32_t unit = 0; unit < count; ++unit)
    follow(unit, /*values=*/true);
  for (uint32_t unit = count; unit-- > 0;)
    follow(unit, /*values=*/false);
}

MemoryOrigin MemoryFlow::output(UnitValue from) const {
  const Body &body = program_.body(program_.units[from.unit.index]);
  const BodyProfile &profile = profileOf(from.unit);
  ValueId source = profile.kernels.source[body.outputs[from.output].value.index];
  if (uint32_t tensor = profile.tensorOf[source.index]; tensor != MemoryTensor::kNever)
    return {MemoryOrigin::Kind::Made, from.unit, tensor};
  const Op &op = body.op(body.value(source).def);
  return op.kind == OpKind::Input ? input(from.unit, op.get<SlotFields>().slot) : MemoryOrigin();
}

std::optional<uint32_t> MemoryFlow::transferOf(UnitValue value, UnitId reader) const {
  if (!program_.pipeline)
    return std::nullopt;
  const Pipeline &pipeline = *program_.pipeline;
  std::optional<uint32_t> from = pipeline.stageOf(value.unit), to = pipeline.stageOf(reader);
  // Ranks of the first copy of the stages; those of another stand to each other alike.
  const std::vector<uint32_t> &rankOf = pipeline.placement.copies.front();
  if (!from || !to || rankOf[*from] == rankOf[*to])
    return std::nullopt;
  const Body &body = program_.body(program_.units[value.unit.index]);
  // Sorted by sending stage.
  for (auto each = llvm::partition_point(pipeline.transfers, [&](const Transfer &t) { return t.from < *from; });
       each != pipeline.transfers.end() && each->from == *from; ++each)
    if (each->value.unit == value.unit && rankOf[each->to] == rankOf[*to] &&
        body.outputs[each->value.output].value == body.outputs[value.output].value)
      return static_cast<uint32_t>(each - pipeline.transfers.begin());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

llvm::ArrayRef<uint32_t> MemoryFlow::arrivals(const Action &action) const {
  if (action.kind == ActionKind::WeightGrad)
    return {};
  return arrivals_[action.stage][action.kind != ActionKind::Forward];
}

llvm::ArrayRef<MemoryFlow::Message> MemoryFlow::between(uint32_t from, uint32_t to) const {
  auto found = between_.find({from, to});
  return found == between_.end() ? llvm::ArrayRef<Message>() : llvm::ArrayRef<Message>(found->second);
}

uint32_t MemoryFlow::sender(uint32_t transfer, uint32_t microBatch) const {
  return program_.pipeline->placement.rankOf(program_.pipeline->transfers[transfer].from, microBatch);
}

/// Units forward, or backward in reverse. What gathers the weights of a unit is issued when the unit `prefetch` turns
/// before it begins, or at the start.
void MemoryFlow::findLegs(uint32_t stage, ActionKind kind) {
  ActionFacts &facts = actions_[stage][static_cast<size_t>(kind)];
  ActionRuns runs = runsOf(kind);
  uint32_t first = firstUnits_[stage], last = firstUnits_[stage + 1], gathered = 0;
  auto unitAt = [&](uint32_t turn) { return UnitId(kind == ActionKind::Forward ? first + turn : last - 1 - turn); };
  auto add = [&](UnitId unit, MemoryRun run, UnitId turn) {
    uint32_t nodes = profileOf(unit).of(run).nodes();
    facts.nodes += nodes;
    if (nodes != 0)
      facts.legs.push_back({unit, run, turn});
  };
  for (uint32_t turn = 0; turn < last - first; ++turn) {
    for (; gathered < last - first && gathered <= uint64_t{turn} + prefetch_; ++gathered)
      add(unitAt(gathered), runs.gathers, unitAt(turn));
    add(unitAt(turn), runs.rest, unitAt(turn));
  }
}

void MemoryFlow::findDepartures(uint32_t stage, ActionKind kind) {
  if (kind == ActionKind::WeightGrad || !program_.pipeline)
    return;
  ActionFacts &facts = actions_[stage][static_cast<size_t>(kind)];
  /// Nodes of the action up to the one that makes the value; 0 if none does.
  auto nodesUpTo = [&](const MemoryOrigin &origin) {
    uint32_t before = 0;
    for (const Leg &leg : facts.legs) {
      const BodyProfile &profile = profileOf(leg.unit);
      if (origin.kind == MemoryOrigin::Kind::Made && origin.unit == leg.unit)
        if (uint32_t made = profile.tensors[origin.index].in(leg.run).made; made != MemoryTensor::kNever)
          return before + made + 1;
      before += profile.of(leg.run).nodes();
    }
    return uint32_t{0};
  };
  for (uint32_t i = 0; i < program_.pipeline->transfers.size(); ++i) {
    const Transfer &transfer = program_.pipeline->transfers[i];
    if (transfer.from == stage && transfer.isForward() == (kind == ActionKind::Forward))
      facts.departures.push_back({i, nodesUpTo(output(transfer.value))});
  }
  llvm::stable_sort(facts.departures, [](const Departure &a, const Departure &b) { return a.after < b.after; });
}

void MemoryFlow::orderMessages() {
  const Pipeline &pipeline = *program_.pipeline;
  places_.resize(pipeline.transfers.size() * pipeline.placement.microBatches);
  for (uint32_t i = 0; i < pipeline.transfers.size(); ++i)
    arrivals_[pipeline.transfers[i].to][!pipeline.transfers[i].isForward()].push_back(i);
  for (const ActionList &list : pipeline.lists)
    for (const Slot &slot : list) {
      llvm::ArrayRef<Departure> ahead = departures(slot.action), behind;
      if (slot.overlapped)
        behind = departures(*slot.overlapped);
      while (!ahead.empty() || !behind.empty()) {
        bool takesFirst =
            behind.empty() || (!ahead.empty() && forwardTakesTurn(ahead.front().after, nodesOf(slot.action),
                                                                  behind.front().after, nodesOf(*slot.overlapped)));
        llvm::ArrayRef<Departure> &from = takesFirst ? ahead : behind;
        send(from.front().transfer, (takesFirst ? slot.action : *slot.overlapped).microBatch);
        from = from.drop_front();
      }
    }
}

void MemoryFlow::send(uint32_t transfer, uint32_t microBatch) {
  const Placement &placement = program_.pipeline->placement;
  uint32_t to = placement.rankOf(program_.pipeline->transfers[transfer].to, microBatch);
  std::vector<Message> &order = between_[{sender(transfer, microBatch), to}];
  places_[number(transfer, microBatch)] = static_cast<uint32_t>(order.size());
  order.push_back({transfer, microBatch});
}

} // namespace stg
