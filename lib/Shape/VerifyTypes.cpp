//===- VerifyTypes.cpp - every type is the one that its rule gives ----------===//
#include "stg/Shape/VerifyTypes.h"
#include "stg/IR/Printer.h"
#include "stg/Shape/ShapeRules.h"

namespace stg {

namespace {

/// What is wrong with the types of the op's results.
std::optional<std::string> findFault(const Program &program, const Body &body, const Op &op) {
  IRContext &context = *program.context;
  llvm::SmallVector<const TensorType *, 4> operands;
  for (ValueId operand : op.operands)
    operands.push_back(&*body.value(operand).type);
  ShapeResult result = inferTypes(op, operands, body, context);
  if (result.error)
    return describe(*result.error, context);
  for (size_t i = 0; i < op.results.size(); ++i) {
    const TensorType &actual = *body.value(op.results[i]).type;
    if (!compatible(actual, result.types[i]))
      return "has a result of type " + toString(actual, context) + " where its rule gives " +
             toString(result.types[i], context);
  }
  return std::nullopt;
}

} // namespace

std::vector<Violation> verifyTypes(const Program &program) {
  std::vector<Violation> violations;
  for (const Body &body : program.bodies)
    for (const Op &op : body.ops)
      if (std::optional<std::string> fault = findFault(program, body, op))
        violations.push_back(
            {printOp(program, body, op) + " of body " + program.text(body.name).str(), *fault, op.where});
  return violations;
}

} // namespace stg
