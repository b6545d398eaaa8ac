//===- TensorNames.cpp - one name per tensor, for annotations ---------------===//
#include "TensorNames.h"

namespace stg {

std::string TensorNames::join(std::string path, llvm::StringRef name) {
  if (!path.empty() && !name.empty())
    path += '.';
  return path + name.str();
}

/// Owned slots are named by their unit; the others by whose they are.
template <class Slots, class Bindings, class ProgramList>
std::string TensorNames::slotName(const Unit &unit, uint32_t slot, const Slots &slots, const Bindings &bindings,
                                  const ProgramList &programList, Slots Body::*list) const {
  if (slots[slot].owned)
    return join(program_.unitPath(unit), program_.text(slots[slot].name));
  uint32_t place = 0;
  for (uint32_t i = 0; i < slot; ++i)
    place += !slots[i].owned;
  const auto &binding = bindings[place];
  if (const auto *other = std::get_if<UnitSlot>(&binding)) {
    const Unit &owner = program_.units[other->unit.index];
    return join(program_.unitPath(owner), program_.text((program_.body(owner).*list)[other->slot].name));
  }
  return program_.text(programList[std::get<0>(binding).index].name).str();
}

std::string TensorNames::weightName(const Unit &unit, uint32_t slot) const {
  return slotName(unit, slot, program_.body(unit).weights, unit.weights, program_.weights, &Body::weights);
}

/// Each micro-batch has activations of its own.
std::string TensorNames::perBatch(std::string name, uint32_t microBatch) const {
  return program_.plan.microBatches > 1 ? name + "#" + std::to_string(microBatch) : name;
}

std::string TensorNames::inputName(UnitId unit, uint32_t slot, uint32_t microBatch) const {
  const SlotOrigin &origin = origins_.input(unit, slot);
  if (origin.kind == SlotOrigin::Kind::Program)
    return perBatch(program_.text(program_.inputs[origin.input.index].name).str(), microBatch);
  const Unit &maker = program_.units[origin.unit.index];
  return nameOf(origin.unit, templates_[maker.body.index]->outputs[origin.output], microBatch);
}

std::string TensorNames::nameOf(UnitId id, const TensorTemplate &tensor, uint32_t microBatch) const {
  const Unit &unit = program_.units[id.index];
  switch (tensor.origin.kind) {
  case ValueOrigin::Kind::Node: {
    std::string name = join(program_.unitPath(unit), tensor.name);
    return runsPerBatch(tensor.origin.place.phase) ? perBatch(name, microBatch) : name;
  }
  case ValueOrigin::Kind::Nowhere:
    return join(program_.unitPath(unit), tensor.name);
  case ValueOrigin::Kind::Input:
    return inputName(id, tensor.origin.index, microBatch);
  case ValueOrigin::Kind::Weight:
    return weightName(unit, tensor.origin.index);
  case ValueOrigin::Kind::Gradient:
    return weightName(unit, tensor.origin.index) + ".grad";
  case ValueOrigin::Kind::Scalar:
    return program_.text(program_.scalars[tensor.origin.index]).str();
  case ValueOrigin::Kind::State:
    return slotName(unit, tensor.origin.index, program_.body(unit).states, unit.states, program_.states, &Body::states);
  }
  return "";
}

} // namespace stg
