//===- ExplainLayouts.cpp - which rule put what where -------------------------===//
#include "stg/Sharding/ExplainLayouts.h"

namespace stg {

const PinRule *findPin(const Program &program, llvm::StringRef unitPath, const Value &value) {
  if (!value.name || program.plan.pins.empty())
    return nullptr;
  std::string path = unitPath.str() + "." + program.text(value.name).str();
  for (const PinRule &pin : program.plan.pins)
    if (pin.value.names(path))
      return &pin;
  return nullptr;
}

Layout layoutOf(const PinRule &pin, const TensorType &type, const Mesh &mesh) {
  Layout layout(mesh.atoms().size());
  for (const auto &[dim, axes] : pin.dims)
    for (const std::string &axis : axes)
      for (uint32_t atom : mesh.atomsOf(axis))
        if (type.has(dim))
          layout.places[atom] = Place::split(dim);
  for (const std::string &axis : pin.partial)
    for (uint32_t atom : mesh.atomsOf(axis))
      layout.places[atom] = Place::partial();
  return layout;
}

HomeExplanation explainHome(const Program &program, UnitId unit, ValueId id) {
  const Body &body = program.body(program.units[unit.index]);
  const Value &value = body.value(id);
  std::string unitPath = program.unitPath(program.units[unit.index]);
  HomeExplanation result;
  result.scope = scopeOf(program, unitPath, body, value);
  result.assignment = Assigner(program).assign(itemsOf(*value.type), result.scope);
  result.pin = findPin(program, unitPath, value);
  result.home =
      result.pin ? layoutOf(*result.pin, *value.type, program.mesh) : layoutOf(result.assignment, *value.type);
  return result;
}

Assignment explainCompute(const Program &program, UnitId unit, OpId id) {
  const Body &body = program.body(program.units[unit.index]);
  const Op &op = body.op(id);
  std::string unitPath = program.unitPath(program.units[unit.index]);
  return Assigner(program).assign(itemsOf(factorsOf(op, body)), scopeOf(program, unitPath, op));
}

} // namespace stg
