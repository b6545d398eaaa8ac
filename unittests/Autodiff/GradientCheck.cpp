//===- GradientCheck.cpp ----------------------------------------------------===//
#include "GradientCheck.h"
#include "stg/IR/Printer.h"
#include "stg/IR/Reader.h"
#include "stg/Passes/PassManager.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>

namespace stg {

using interp::InterpInputs;
using interp::InterpResult;
using interp::Tensor;

namespace {

std::string messages(const Diagnostics &diags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDiagnostics(diags, os, {.colours = Colours::Never});
  return text;
}

/// Every weight of the program and of its units, by name.
std::map<std::string, TensorType> weightsOf(const Program &program) {
  std::map<std::string, TensorType> weights;
  for (const ProgramWeight &weight : program.weights)
    weights[program.text(weight.name).str()] = weight.type;
  for (const Unit &unit : program.units)
    for (const WeightSlot &slot : program.body(unit).weights)
      if (slot.owned)
        weights[program.unitPath(unit) + "." + program.text(slot.name).str()] = slot.type;
  return weights;
}

Tensor numbersFor(const std::string &name, const TensorType &type, uint64_t seed) {
  interp::TensorDims dims;
  for (const Dim &dim : type.dims)
    dims.push_back({dim.name, dim.size.size().value_or(0)});
  return interp::madeUpTensor(type.element, dims, seed, name, 1);
}

double lossOf(const Program &program, const InterpInputs &inputs) { return interp::interpret(program, inputs).loss; }

/// The loss per step, where `element` of `weight` moves by `step` to both sides.
double slope(const Program &typed, InterpInputs &inputs, const std::string &weight, size_t element, double step) {
  double &number = inputs.given[weight].data[element];
  double before = number;
  number = before + step;
  double above = lossOf(typed, inputs);
  number = before - step;
  double below = lossOf(typed, inputs);
  number = before;
  return (above - below) / (2 * step);
}

constexpr double kStep = 1e-5;

} // namespace

std::optional<Program> readTyped(const std::string &text) {
  SourceManager sources;
  Diagnostics diags{sources};
  std::optional<Program> program = readProgram(sources.addBuffer("test.stgir", text), diags);
  if (program && program->level == Level::Elaborated &&
      runPasses(*program, {PassId::InferShapes}, diags, nullptr, VerifyPasses::AfterEach) != Outcome::Done)
    program.reset();
  EXPECT_EQ(messages(diags), "") << text;
  return diags.hasErrors() ? std::nullopt : std::move(program);
}

void trainAll(Program &program) {
  program.mode = Mode::Train;
  OptimizerRule rule;
  rule.name = program.context->name("sgd");
  program.plan.optimizers.push_back(std::move(rule));
}

namespace {

Program differentiated(const Program &typed, std::vector<PassRun> &runs) {
  SourceManager sources;
  Diagnostics diags{sources};
  Program program = typed;
  EXPECT_EQ(runPasses(program, {PassId::Specialise, PassId::Differentiate}, diags, &runs, VerifyPasses::AfterEach),
            Outcome::Done);
  EXPECT_EQ(messages(diags), "");
  return program;
}

} // namespace

Program differentiated(const Program &typed) {
  std::vector<PassRun> runs;
  return differentiated(typed, runs);
}

uint64_t opVisits(const Program &typed) {
  std::vector<PassRun> runs;
  differentiated(typed, runs);
  uint64_t visits = 0;
  for (const PassRun &run : runs)
    visits += run.stats.opVisits;
  return visits;
}

GradientCounts &GradientCounts::operator+=(const GradientCounts &other) {
  compared += other.compared;
  nonzero += other.nonzero;
  leftOut += other.leftOut;
  return *this;
}

GradientCounts compareGradients(const Program &typed, InterpInputs inputs, size_t most) {
  std::map<std::string, TensorType> weights = weightsOf(typed);
  for (const auto &[name, type] : weights)
    if (!inputs.given.count(name))
      inputs.given[name] = numbersFor(name, type, inputs.seed);
  Program program = differentiated(typed);
  InterpResult result = interp::interpret(program, inputs);
  GradientCounts counts;
  bool hadFailure = ::testing::Test::HasFailure();
  for (const auto &[name, type] : weights) {
    const OptimizerRule *rule = optimizerOf(typed.plan, name);
    const Tensor *gradient = result.gradient(name);
    if (!rule || !rule->name) {
      EXPECT_FALSE(gradient) << name << " is frozen";
      continue;
    }
    llvm::SmallVector<NameId, 6> order;
    for (const interp::TensorDim &dim : inputs.given[name].dims)
      order.push_back(dim.name);
    std::optional<Tensor> ordered;
    if (gradient)
      ordered = interp::permuted(*gradient, order);
    size_t count = inputs.given[name].data.size(), stride = std::max<size_t>(1, count / most);
    for (size_t i = 0; i < count; i += stride) {
      double expected = slope(typed, inputs, name, i, kStep), other = slope(typed, inputs, name, i, 2 * kStep);
      if (!(std::fabs(expected - other) <= 1e-6 * (1 + std::fabs(expected)))) {
        ++counts.leftOut;
        continue;
      }
      double actual = ordered ? ordered->data[i] : 0;
      ++counts.compared;
      counts.nonzero += actual != 0;
      EXPECT_NEAR(actual, expected, 1e-5 * (1 + std::fabs(expected))) << name << ", element " << i;
    }
  }
  if (!hadFailure && ::testing::Test::HasFailure())
    ADD_FAILURE() << toString(program);
  return counts;
}

void checkGradients(const Program &typed, InterpInputs inputs, size_t most) {
  try {
    GradientCounts counts = compareGradients(typed, std::move(inputs), most);
    EXPECT_GT(counts.nonzero, 0u);
    EXPECT_EQ(counts.leftOut, 0u);
  } catch (const interp::InterpFault &fault) {
    ADD_FAILURE() << fault.what() << "\n" << toString(differentiated(typed));
  }
}

} // namespace stg
