//===- Differentiate.cpp - add the backward ops of a training step ------------===//
// GradientFlow decides per unit what its backward makes; units of one body that differ in it get bodies of their own;
// each body is differentiated once; then the units bind the new slots to what later units found.
//===----------------------------------------------------------------------===//
#include "stg/Autodiff/Differentiate.h"
#include "BodyBackward.h"
#include "stg/IR/BodyVariants.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

/// The output with the cotangent that `reader` sums up.
InputBinding cotangentFrom(const Program &program, const autodiff::Reader &reader) {
  const Body &body = program.body(program.units[reader.unit.index]);
  for (uint32_t o = 0; o < body.outputs.size(); ++o)
    if (body.outputs[o].cotangentOf == reader.slot)
      return UnitValue{reader.unit, o};
  internalError("differentiate", spelling(program.level), program.text(body.name), "gives no cotangent of an input");
}

void bindUnits(Program &program, const autodiff::GradientFlow &flow) {
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    Unit &unit = program.units[u];
    const Body &body = program.body(unit);
    for (size_t i = unit.inputs.size(); i < body.inputs.size(); ++i) {
      const InputSlot &slot = body.inputs[i];
      const autodiff::Reader &reader =
          slot.role == SlotRole::Cotangent ? flow.firstReader[u][slot.of] : flow.nextReader[u][slot.of];
      unit.inputs.push_back(cotangentFrom(program, reader));
    }
  }
}

} // namespace

void differentiate(Program &program, PassStats &stats) {
  if (program.mode == Mode::Train) {
    autodiff::GradientFlow flow = autodiff::planBackward(program, stats);
    splitBodies(program, flow.taskOfUnit);
    std::vector<bool> done(program.bodies.size(), false);
    for (size_t u = 0; u < program.units.size(); ++u) {
      uint32_t body = program.units[u].body.index;
      if (!done[body])
        autodiff::addBackward(program, program.bodies[body], flow.tasks[flow.taskOfUnit[u]], stats);
      done[body] = true;
    }
    bindUnits(program, flow);
  }
  program.level = Level::Differentiated;
}

} // namespace stg
