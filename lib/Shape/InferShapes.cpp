//===- InferShapes.cpp - give every value a type ---------------------------===//
// A body is in topological order and slots carry types, so one walk suffices. Bodies do not depend on each other: a
// call declares the types of its results itself, and what a unit binds to a slot is checked by the verifier.
//===----------------------------------------------------------------------===//
#include "stg/Shape/InferShapes.h"
#include "stg/IR/Printer.h"
#include "stg/Shape/ShapeRules.h"

namespace stg {

namespace {

/// Types the results of one op; false if its rule is broken. Silent if an operand has no type: that was reported.
bool inferOp(const Program &program, Body &body, const Op &op, Diagnostics &diags) {
  llvm::SmallVector<const TensorType *, 4> operands;
  for (ValueId operand : op.operands) {
    const std::optional<TensorType> &type = body.value(operand).type;
    if (!type)
      return false;
    operands.push_back(&*type);
  }
  ShapeResult result = inferTypes(op, operands, body, *program.context);
  if (result.error || result.types.size() != op.results.size()) {
    std::string reason = result.error ? describe(*result.error, *program.context)
                                      : "has " + std::to_string(op.results.size()) + " results instead of " +
                                            std::to_string(result.types.size());
    DiagnosticBuilder report =
        diags.report(op.where, diag::ShapeRuleBroken{.body = program.text(body.name), .reason = reason});
    if (!op.where.valid())
      report.detail(printOp(program, body, op));
    return false;
  }
  for (size_t i = 0; i < op.results.size(); ++i)
    body.values[op.results[i].index].type = std::move(result.types[i]);
  return true;
}

} // namespace

Outcome inferShapes(Program &program, Diagnostics &diags, PassStats &stats) {
  bool ok = true;
  for (Body &body : program.bodies) {
    for (Value &value : body.values)
      value.type.reset();
    for (const Op &op : body.ops) {
      ++stats.opVisits;
      ok &= inferOp(program, body, op, diags);
    }
  }
  if (!ok)
    return Outcome::Failed;
  program.level = Level::Typed;
  return Outcome::Done;
}

} // namespace stg
