//===- RandomGradientTest.cpp - gradients of random programs ---------------------===//
// Every output of every unit is a loss. Where two step sizes disagree the loss has a kink or overflows there, and the
// element is left out.
//===----------------------------------------------------------------------===//
#include "GradientCheck.h"
#include "RandomProgram.h"
#include "stg/Passes/PassManager.h"
#include "stg/Support/InternalError.h"
#include "gtest/gtest.h"
#include <cmath>

namespace stg {
namespace {

ValueId append(Body &body, OpKind kind, ValueId operand, OpFields fields, TensorType type) {
  ValueId result(static_cast<uint32_t>(body.values.size()));
  Op &op = body.ops.emplace_back();
  op.kind = kind;
  op.operands = {operand};
  op.results = {result};
  op.fields = std::move(fields);
  op.kernel = static_cast<uint32_t>(body.ops.size());
  Value &value = body.values.emplace_back();
  value.type = std::move(type);
  value.def = OpId(static_cast<uint32_t>(body.ops.size() - 1));
  return result;
}

void makeOutputsLosses(Program &program) {
  for (Body &body : program.bodies)
    for (const BodyOutput &output : std::vector<BodyOutput>(body.outputs)) {
      TensorType type = *body.value(output.value).type;
      if (!isFloat(type.element))
        continue;
      type.element = ElementType::F32;
      ReduceFields fields{ReduceFn::Sum, {}, ElementType::F32};
      for (const Dim &dim : type.dims)
        fields.reduced.push_back(dim.name);
      ValueId bounded = append(body, OpKind::Map, output.value, MapFields{MapFn::Sin, ElementType::F32}, type);
      body.losses.push_back(append(body, OpKind::Reduce, bounded, std::move(fields), {ElementType::F32, {}}));
    }
}

/// Differences see through `stop`, so here it is a plain copy.
void dropStops(Program &program) {
  for (Body &body : program.bodies)
    for (Op &op : body.ops)
      if (op.kind == OpKind::Stop) {
        op.kind = OpKind::Map;
        op.fields = MapFields{MapFn::Cast, body.value(op.results[0]).type->element};
      }
}

/// Calls without a gradient, and what is appended to a state: no gradient passes, but differences do.
bool hasBarriers(const Program &program) {
  for (const Body &body : program.bodies)
    for (const Op &op : body.ops)
      if (op.kind == OpKind::Call || op.kind == OpKind::Append)
        return true;
  return false;
}

/// Some random programs index out of range; and some take the root of a negative number, on which differences and
/// gradients need not agree.
bool canRun(const Program &program) {
  try {
    interp::InterpResult run = interp::interpret(program, {}, interp::KeepValues::Every);
    return llvm::none_of(run.values, [](const interp::NamedTensor &value) {
      return llvm::any_of(value.value.data, [](double number) { return std::isnan(number); });
    });
  } catch (const interp::InterpFault &) {
    return false;
  }
}

TEST(RandomGradient, AgreesWithDifferences) {
  constexpr uint64_t kPrograms = 300;
  GradientCounts counts;
  uint64_t first = firstSeed(1);
  for (uint64_t seed = first; seed < first + kPrograms; ++seed) {
    Program program = randomProgram(seed, {.maxOps = 10});
    if (hasBarriers(program))
      continue;
    dropStops(program);
    SCOPED_TRACE("STG_SEED=" + std::to_string(seed));
    makeOutputsLosses(program);
    trainAll(program);
    if (!canRun(program))
      continue;
    counts += compareGradients(program, {}, 6);
    if (HasFailure())
      return;
  }
  EXPECT_GT(counts.compared, 300u);
  EXPECT_GT(counts.nonzero, 150u);
}

} // namespace
} // namespace stg
