//===- PrintBodies.cpp - bodies, their ops and units as text ------------------------===//
#include "ProgramPrinter.h"

namespace stg::detail {

void ProgramPrinter::printOpLine(const Body &body, const Op &op) {
  enterBody(body);
  printOp(op);
}

std::string ProgramPrinter::layout(llvm::StringRef word, const std::optional<Layout> &layout,
                                   const TensorType &type) const {
  return layout ? " " + word.str() + " " + stg::toString(*layout, type.dims, atoms_, context_.names) : "";
}

std::string ProgramPrinter::elementUnlessF32(llvm::StringRef word, ElementType element) {
  return element == ElementType::F32 ? "" : " " + word.str() + " " + spelling(element).str();
}

std::string ProgramPrinter::element(llvm::StringRef word, std::optional<ElementType> element) {
  return element ? " " + word.str() + " " + spelling(*element).str() : "";
}

void ProgramPrinter::printBody(const Body &body) {
  enterBody(body);
  os_ << "\nbody " << name(body.name) << " {\n";
  for (const InputSlot &slot : body.inputs) {
    os_ << "  input " << name(slot.name) << " : " << type(slot.type);
    if (slot.role != SlotRole::Value)
      os_ << " " << spelling(slot.role) << " of " << slot.of;
    os_ << layout("layout", slot.layout, slot.type) << "\n";
  }
  for (const WeightSlot &slot : body.weights)
    os_ << "  weight " << name(slot.name) << " : " << type(slot.type) << (slot.owned ? "" : " shared")
        << (slot.trained ? " trained" : "") << elementUnlessF32("gradient", slot.gradient)
        << elementUnlessF32("master", slot.master) << elementUnlessF32("moment", slot.moment)
        << element("comm_gradient", slot.commGradient) << element("comm_weight", slot.commWeight)
        << (slot.host ? " host" : "") << layout("layout", slot.layout, slot.type)
        << layout("buffer", slot.buffer, slot.type) << "\n";
  for (const StateSlot &slot : body.states)
    os_ << "  state " << name(slot.name) << " : " << type(slot.type) << (slot.owned ? "" : " shared")
        << (slot.host ? " host" : "") << layout("layout", slot.layout, slot.type) << "\n";
  for (const Op &op : body.ops) {
    os_ << "  ";
    printOp(op);
    os_ << "\n";
  }
  for (const BodyOutput &output : body.outputs) {
    os_ << "  output " << name(output.name) << " = " << value(output.value);
    if (output.cotangentOf)
      os_ << " cotangent of " << *output.cotangentOf;
    os_ << "\n";
  }
  for (ValueId loss : body.losses)
    os_ << "  loss " << value(loss) << "\n";
  os_ << "}\n";
}

void ProgramPrinter::enterBody(const Body &body) {
  body_ = &body;
  numbers_.assign(body.values.size(), body.values.size());
  size_t next = 0;
  for (const Op &op : body.ops)
    for (ValueId result : op.results) {
      if (result.index < numbers_.size())
        numbers_[result.index] = next;
      ++next;
    }
}

std::string ProgramPrinter::value(ValueId id) const {
  if (id.index >= body_->values.size())
    return "%?";
  llvm::StringRef plain = text(body_->value(id).name);
  return "%" + (plain.empty() ? std::to_string(numbers_[id.index]) : path(plain));
}

void ProgramPrinter::printOp(const Op &op) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    os_ << (i ? ", " : "") << value(op.results[i]);
    if (op.results[i].index >= body_->values.size())
      continue;
    const Value &result = body_->value(op.results[i]);
    if (result.type)
      os_ << " : " << type(*result.type) << layout("layout", result.layout, *result.type);
    if (result.scope)
      os_ << " at " << name(result.scope);
  }
  if (!op.results.empty())
    os_ << " = ";
  if (!fieldsMatchKind(op)) {
    os_ << mnemonic(op.kind) << "? " << operands(op);
    return;
  }
  printKind(op);
  if (op.part != Part::Forward)
    os_ << " part " << spelling(op.part);
  os_ << " kernel " << op.kernel;
  if (op.scope && !text(op.scope).empty())
    os_ << " scope " << name(op.scope);
  if (!op.compute.empty())
    os_ << " compute (" << join(op.compute, [](int16_t factor) { return std::to_string(factor); }) << ")";
}

std::string ProgramPrinter::unitName(UnitId id) const {
  return id.index < program_.units.size() ? path(program_.unitPath(program_.units[id.index])) : "?";
}

const Body *ProgramPrinter::unitBody(UnitId id) const {
  if (id.index >= program_.units.size() || program_.units[id.index].body.index >= program_.bodies.size())
    return nullptr;
  return &program_.body(program_.units[id.index]);
}

std::string ProgramPrinter::unitValue(UnitValue from) const {
  const Body *body = unitBody(from.unit);
  return "@" + unitName(from.unit) + ":" +
         (body && from.output < body->outputs.size() ? name(body->outputs[from.output].name) : "?");
}

template <class Slots> std::string ProgramPrinter::unitSlot(UnitSlot from, const Slots Body::*slots) const {
  const Body *body = unitBody(from.unit);
  return "@" + unitName(from.unit) + ":" +
         (body && from.slot < (body->*slots).size() ? name((body->*slots)[from.slot].name) : "?");
}

void ProgramPrinter::printUnit(const Unit &unit) {
  os_ << "unit @" << path(program_.unitPath(unit)) << " : ";
  if (unit.body.index >= program_.bodies.size()) {
    os_ << "?\n";
    return;
  }
  const Body &body = program_.body(unit);
  os_ << name(body.name) << "(";
  for (size_t i = 0; i < unit.inputs.size(); ++i) {
    os_ << (i ? ", " : "") << (i < body.inputs.size() ? name(body.inputs[i].name) : "?") << " = ";
    if (const auto *input = std::get_if<InputId>(&unit.inputs[i]))
      os_ << "input " << (input->index < program_.inputs.size() ? name(program_.inputs[input->index].name) : "?");
    else
      os_ << unitValue(std::get<UnitValue>(unit.inputs[i]));
  }
  os_ << ")";
  printBindings<WeightId>("weights", unit.weights, body, &Body::weights, program_.weights, "weight");
  printBindings<StateId>("states", unit.states, body, &Body::states, program_.states, "state");
  os_ << "\n";
}

template <class GlobalId, class Bindings, class Slot, class Globals>
void ProgramPrinter::printBindings(llvm::StringRef keyword, const Bindings &bindings, const Body &body,
                                   std::vector<Slot> Body::*slots, const Globals &globals, llvm::StringRef global) {
  if (bindings.empty())
    return;
  llvm::SmallVector<NameId, 4> shared;
  for (const Slot &slot : body.*slots)
    if (!slot.owned)
      shared.push_back(slot.name);
  os_ << " " << keyword << "(";
  for (size_t i = 0; i < bindings.size(); ++i) {
    os_ << (i ? ", " : "") << (i < shared.size() ? name(shared[i]) : "?") << " = ";
    if (const auto *id = std::get_if<GlobalId>(&bindings[i]))
      os_ << global << " " << (id->index < globals.size() ? name(globals[id->index].name) : "?");
    else
      os_ << unitSlot(std::get<UnitSlot>(bindings[i]), slots);
  }
  os_ << ")";
}

} // namespace stg::detail
