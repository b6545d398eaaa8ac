//===- SliceRun.cpp ---------------------------------------------------------===//
#include "SliceRun.h"

namespace stg::interp {

namespace {

/// Values of the step of a stage's further copies.
constexpr auto kUnseen = [](const UnitRun &, ValueId, const RankTensors &) {};

} // namespace

/// What a unit of a micro-batch, or of the step, finds around it.
class SliceRun::Outside : public UnitOutside {
public:
  Outside(SliceRun &slice, UnitId id, int64_t microBatch) : slice_(slice), id_(id), microBatch_(microBatch) {}

  RankTensors input(uint32_t slot) override { return slice_.bound(id_, slot, microBatch_); }
  RankTensors weight(uint32_t slot) override { return store().weight(id_, slot); }
  RankTensors state(uint32_t slot) override { return store().state(id_, slot, microBatch_); }
  RankTensors gradient(uint32_t slot) override { return store().gradient(id_, slot); }
  RankTensors total(uint32_t scalar, const Value &result) override { return store().total(scalar, result); }
  void writeState(uint32_t slot, RankTensors value) override {
    store().writeState(id_, slot, microBatch_, std::move(value));
  }
  void accumulate(uint32_t slot, const Value &operand, const RankTensors &value) override {
    store().accumulate(id_, slot, operand, value);
  }
  void assign(uint32_t slot, const Value &operand, RankTensors value) override {
    store().assign(id_, slot, operand, std::move(value));
  }
  void tally(uint32_t scalar, const Value &operand, const RankTensors &value) override {
    store().tally(scalar, operand, value);
  }
  /// Of a stage's weights, which all copies of the stage hold, the first counts.
  bool keepsShare() const override { return microBatch_ != kOfStep || slice_.isFirstCopy(id_); }

private:
  StepStore &store() { return slice_.store_; }

  SliceRun &slice_;
  UnitId id_;
  int64_t microBatch_;
};

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

std::optional<UnitValue> SliceRun::lacks(const Action &action) const {
  bool isForward = action.kind == ActionKind::Forward;
  if (!isForward && !makesInputGrad(action))
    return std::nullopt;
  for (uint32_t u = pipeline_.firstUnits[action.stage]; u < pipeline_.firstUnits[action.stage + 1]; ++u) {
    const Body &body = program_.body(program_.units[u]);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot) {
      const auto *from = std::get_if<UnitValue>(&program_.units[u].inputs[slot]);
      if (from && (body.inputs[slot].role == SlotRole::Value) == isForward && !isOwn(from->unit, action.microBatch) &&
          !arrivals_.contains({action.microBatch, from->unit, valueOf(*from)}))
        return *from;
    }
  }
  return std::nullopt;
}

void SliceRun::run(const Action &action, Made made) {
  uint32_t first = pipeline_.firstUnits[action.stage], end = pipeline_.firstUnits[action.stage + 1];
  auto runReading = [&](uint32_t u, auto wanted) {
    const Body &body = program_.body(program_.units[u]);
    runUnit(UnitId(u), action.microBatch, [&](const Op &op) { return wanted(op.part, readsBackward(body, op)); }, made);
  };
  if (action.kind == ActionKind::Forward) {
    for (uint32_t u = first; u < end; ++u)
      runReading(u, [](Part part, bool readsBackward) {
        return (part == Part::Forward || part == Part::Gather) && !readsBackward; // weights stay as they are
      });
    return;
  }
  for (uint32_t u = end; u-- > first;)
    runReading(u, [&](Part part, bool readsBackward) {
      if (readsBackward)
        return makesInputGrad(action);
      return isBackward(part) && (part == Part::WeightGrad ? makesWeightGrad(action) : makesInputGrad(action));
    });
}

bool SliceRun::readsBackward(const Body &body, const Op &op) const {
  return op.kind == OpKind::Input && body.inputs[op.get<SlotFields>().slot].role != SlotRole::Value;
}

void SliceRun::finish(int64_t microBatch) {
  for (uint32_t u = 0; u < program_.units.size(); ++u)
    if (auto node = units_.extract({microBatch, UnitId(u)})) {
      units_.erase({kOfStep, UnitId(u)});
      node.key().first = kOfStep;
      units_.insert(std::move(node));
    }
  std::erase_if(arrivals_, [&](const auto &entry) {
    const auto &[of, unit, value] = entry.first;
    if (of == microBatch && !entry.second.isRead)
      throw InterpFault("a value of " + program_.unitPath(program_.units[unit.index]) + " is sent to pipeline rank " +
                        std::to_string(rank_) + ", where nothing reads it");
    return of == microBatch;
  });
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

void SliceRun::runSync(Made made) {
  auto isSync = [](const Op &op) { return op.part == Part::Sync; };
  auto stages = pipeline_.firstUnits.back(), units = static_cast<uint32_t>(program_.units.size());
  for (uint32_t u = stages; u-- > 0;)
    if (pipeline_.runsOn(UnitId(u), rank_))
      runUnit(UnitId(u), kOfStep, isSync, isFirstCopy(UnitId(u)) ? made : Made(kUnseen));
  for (uint32_t u = stages; u < units; ++u)
    if (pipeline_.stepRanks[u - stages] == rank_)
      runUnit(UnitId(u), kOfStep, isSync, made);
}

void SliceRun::runStep(Made made) {
  auto isStep = [](const Op &op) { return op.part == Part::Step; };
  auto stages = pipeline_.firstUnits.back(), units = static_cast<uint32_t>(program_.units.size());
  for (uint32_t u = stages; u < units; ++u)
    if (pipeline_.stepRanks[u - stages] == rank_)
      runUnit(UnitId(u), kOfStep, isStep, made);
  for (uint32_t u = 0; u < stages; ++u)
    if (pipeline_.runsOn(UnitId(u), rank_))
      runUnit(UnitId(u), kOfStep, isStep, isFirstCopy(UnitId(u)) ? made : Made(kUnseen));
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

UnitRun &SliceRun::unitRun(UnitId id, int64_t microBatch) {
  const Unit &unit = program_.units[id.index];
  uint64_t seed = seedOf(inputs_.seed, std::max<int64_t>(microBatch, 0));
  return units_.try_emplace({microBatch, id}, context_, program_.body(unit), program_.unitPath(unit), seed)
      .first->second;
}

void SliceRun::runUnit(UnitId id, int64_t microBatch, llvm::function_ref<bool(const Op &)> wanted, Made made) {
  UnitRun &unit = unitRun(id, microBatch);
  Outside outside(*this, id, microBatch);
  unit.run(outside, wanted, [&](ValueId value, const RankTensors &parts) { made(unit, value, parts); });
}

//===----------------------------------------------------------------------===//
// Values between units
//===----------------------------------------------------------------------===//

bool SliceRun::isOwn(UnitId unit, int64_t microBatch) const {
  std::optional<uint32_t> stage = pipeline_.stageOf(unit);
  if (!stage || microBatch == kOfStep)
    return pipeline_.runsOn(unit, rank_);
  return pipeline_.placement.rankOf(*stage, static_cast<uint32_t>(microBatch)) == rank_;
}

bool SliceRun::isFirstCopy(UnitId unit) const {
  std::optional<uint32_t> stage = pipeline_.stageOf(unit);
  return !stage || pipeline_.placement.copies.front()[*stage] == rank_;
}

ValueId SliceRun::valueOf(UnitValue from) const {
  return program_.body(program_.units[from.unit.index]).outputs[from.output].value;
}

RankTensors SliceRun::bound(UnitId id, uint32_t slot, int64_t microBatch) {
  const Unit &unit = program_.units[id.index];
  const InputSlot &own = program_.body(unit).inputs[slot];
  const InputBinding &binding = unit.inputs[slot];
  if (const auto *input = std::get_if<InputId>(&binding))
    return store_.input(*input, own, std::max<int64_t>(microBatch, 0));
  auto from = std::get<UnitValue>(binding);
  const RankTensors &parts = isOwn(from.unit, microBatch) ? output(from, microBatch) : arrived(from, id, microBatch);
  if (context_.dims && program_.body(program_.units[from.unit.index]).value(valueOf(from)).layout != own.layout)
    throw InterpFault("reads " + program_.text(own.name).str() + " in another layout than the unit that makes it");
  return parts;
}

const RankTensors &SliceRun::output(UnitValue from, int64_t microBatch) const {
  auto unit = units_.find({microBatch, from.unit});
  if (unit == units_.end())
    throw InterpFault("needs a value of " + program_.unitPath(program_.units[from.unit.index]) +
                      " that has not been computed");
  return unit->second.value(valueOf(from));
}

void SliceRun::arrive(const Transfer &transfer, int64_t microBatch, RankTensors parts) {
  auto [known, isNew] = arrivals_.try_emplace({microBatch, transfer.value.unit, valueOf(transfer.value)},
                                              Arrival{std::move(parts), transfer.to});
  if (!isNew)
    throw InterpFault("a value of " + program_.unitPath(program_.units[transfer.value.unit.index]) +
                      " arrives twice at pipeline rank " + std::to_string(rank_));
}

/// The copy of a value is that of the stage that receives it, and of those behind in the direction of its way.
const RankTensors &SliceRun::arrived(UnitValue from, UnitId reader, int64_t microBatch) {
  auto known = arrivals_.find({microBatch, from.unit, valueOf(from)});
  std::string path = program_.unitPath(program_.units[from.unit.index]);
  if (known == arrivals_.end())
    throw InterpFault("needs a value of " + path + " that has not arrived");
  uint32_t stage = pipeline_.stageOf(reader).value_or(known->second.stage), sender = *pipeline_.stageOf(from.unit);
  if (sender < stage ? stage < known->second.stage : stage > known->second.stage)
    throw InterpFault("needs a value of " + path + " before stage " + std::to_string(known->second.stage) +
                      " receives it");
  known->second.isRead = true;
  return known->second.parts;
}

} // namespace stg::interp
