//===- SlotOrigins.cpp - who makes what the slots of units bring ------------===//
// An output that is an input passed on has that input's origin, unless the unit is on another rank: what that rank
// sends is the origin then. Values come from earlier units, cotangents and accumulators from later ones, so one walk
// forwards and one backwards finds every origin behind it.
//===----------------------------------------------------------------------===//
#include "SlotOrigins.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

SlotOrigins::SlotOrigins(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates)
    : program_(program), templates_(templates) {
  for (const Unit &unit : program.units) {
    firstInput_.push_back(inputs_.size());
    inputs_.resize(inputs_.size() + unit.inputs.size());
  }
  uint32_t count = static_cast<uint32_t>(program.units.size());
  auto followAll = [&](uint32_t unit, bool values) {
    const Body &body = program.body(program.units[unit]);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot)
      if ((body.inputs[slot].role == SlotRole::Value) == values)
        follow(UnitId(unit), slot);
  };
  for (uint32_t unit = 0; unit < count; ++unit)
    followAll(unit, /*values=*/true);
  for (uint32_t unit = count; unit-- > 0;)
    followAll(unit, /*values=*/false);
  numberBuffers();
}

void SlotOrigins::follow(UnitId unit, uint32_t slot) {
  SlotOrigin &origin = inputs_[firstInput_[unit.index] + slot];
  const InputBinding &binding = program_.units[unit.index].inputs[slot];
  if (const auto *input = std::get_if<InputId>(&binding)) {
    origin.kind = SlotOrigin::Kind::Program;
    origin.input = *input;
    return;
  }
  UnitValue from = std::get<UnitValue>(binding);
  if (std::optional<uint32_t> transfer = transferOf(from, unit)) {
    origin.kind = SlotOrigin::Kind::Message;
    origin.unit = from.unit;
    origin.output = from.output;
    origin.transfer = *transfer;
    return;
  }
  origin = output(from);
}

SlotOrigin SlotOrigins::output(UnitValue from) const {
  const ValueOrigin &made = templates_[program_.units[from.unit.index].body.index]->outputs[from.output].origin;
  if (made.kind == ValueOrigin::Kind::Input)
    return input(from.unit, made.index);
  SlotOrigin origin;
  origin.kind = made.kind == ValueOrigin::Kind::Node ? SlotOrigin::Kind::Node : SlotOrigin::Kind::Leaf;
  origin.unit = from.unit;
  origin.place = made.place;
  origin.output = from.output;
  return origin;
}

std::optional<uint32_t> SlotOrigins::transferOf(UnitValue value, UnitId reader) const {
  if (!program_.pipeline)
    return std::nullopt;
  const Pipeline &pipeline = *program_.pipeline;
  std::optional<uint32_t> from = pipeline.stageOf(value.unit), to = pipeline.stageOf(reader);
  // Ranks of the first copy of the stages; those of another stand to each other alike.
  const std::vector<uint32_t> &rankOf = pipeline.placement.copies.front();
  if (!from || !to || rankOf[*from] == rankOf[*to])
    return std::nullopt;
  const Body &body = program_.body(program_.units[value.unit.index]);
  auto sends = [&](const Transfer &transfer) {
    return transfer.value.unit == value.unit && rankOf[transfer.to] == rankOf[*to] &&
           body.outputs[transfer.value.output].value == body.outputs[value.output].value;
  };
  // Sorted by sending stage.
  auto first = llvm::partition_point(pipeline.transfers, [&](const Transfer &each) { return each.from < *from; });
  auto found = std::find_if(first, pipeline.transfers.end(), sends);
  if (found == pipeline.transfers.end())
    internalError(program_.unitPath(program_.units[reader.index]), "reads what no rank sends it");
  return static_cast<uint32_t>(found - pipeline.transfers.begin());
}

void SlotOrigins::numberBuffers() {
  bufferCount_ = static_cast<uint32_t>(program_.weights.size());
  for (const Unit &unit : program_.units) {
    firstWeight_.push_back(buffers_.size());
    size_t shared = 0;
    for (const WeightSlot &slot : program_.body(unit).weights) {
      if (slot.owned) {
        buffers_.push_back(bufferCount_++);
        continue;
      }
      const WeightBinding &binding = unit.weights[shared++];
      if (const auto *weight = std::get_if<WeightId>(&binding))
        buffers_.push_back(weight->index);
      else
        buffers_.push_back(buffer(std::get<UnitSlot>(binding).unit, std::get<UnitSlot>(binding).slot));
    }
  }
}

} // namespace stg
