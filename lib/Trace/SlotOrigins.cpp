//===- SlotOrigins.cpp - who makes what the slots of units bring ------------===//
// An output that is an input passed on has that input's origin. Values come from earlier units, cotangents and
// accumulators from later ones, so one walk forwards and one backwards finds every origin behind it.
//===----------------------------------------------------------------------===//
#include "SlotOrigins.h"

namespace stg {

SlotOrigins::SlotOrigins(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates) {
  for (const Unit &unit : program.units) {
    firstInput_.push_back(inputs_.size());
    inputs_.resize(inputs_.size() + unit.inputs.size());
  }
  uint32_t count = static_cast<uint32_t>(program.units.size());
  auto followAll = [&](uint32_t unit, bool values) {
    const Body &body = program.body(program.units[unit]);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot)
      if ((body.inputs[slot].role == SlotRole::Value) == values)
        follow(program, templates, UnitId(unit), slot);
  };
  for (uint32_t unit = 0; unit < count; ++unit)
    followAll(unit, /*values=*/true);
  for (uint32_t unit = count; unit-- > 0;)
    followAll(unit, /*values=*/false);
  numberBuffers(program);
}

void SlotOrigins::follow(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates, UnitId unit,
                         uint32_t slot) {
  SlotOrigin &origin = inputs_[firstInput_[unit.index] + slot];
  const InputBinding &binding = program.units[unit.index].inputs[slot];
  if (const auto *input = std::get_if<InputId>(&binding)) {
    origin.kind = SlotOrigin::Kind::Program;
    origin.input = *input;
    return;
  }
  UnitValue from = std::get<UnitValue>(binding);
  const ValueOrigin &made = templates[program.units[from.unit.index].body.index]->outputs[from.output].origin;
  if (made.kind == ValueOrigin::Kind::Input) {
    origin = input(from.unit, made.index);
    return;
  }
  origin.kind = made.kind == ValueOrigin::Kind::Node ? SlotOrigin::Kind::Node : SlotOrigin::Kind::Leaf;
  origin.unit = from.unit;
  origin.place = made.place;
  origin.output = from.output;
}

void SlotOrigins::numberBuffers(const Program &program) {
  bufferCount_ = static_cast<uint32_t>(program.weights.size());
  for (const Unit &unit : program.units) {
    firstWeight_.push_back(buffers_.size());
    size_t shared = 0;
    for (const WeightSlot &slot : program.body(unit).weights) {
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
