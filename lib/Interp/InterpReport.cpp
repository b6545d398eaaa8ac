//===- InterpReport.cpp ---------------------------------------------------===//
#include "stg/Interp/InterpReport.h"
#include "llvm/Support/Format.h"
#include <cmath>

namespace stg::interp {

namespace {

void printNumber(double value, llvm::raw_ostream &os) {
  os << llvm::format("%.6g", std::fabs(value) < 1e-9 ? 0.0 : value);
}

void printTensor(llvm::StringRef what, const NamedTensor &tensor, const IRContext &context, llvm::raw_ostream &os) {
  constexpr size_t kListed = 16;
  const Tensor &value = tensor.value;
  os << what << ' ' << tensor.name;
  if (tensor.microBatch > 0)
    os << " in micro-batch " << tensor.microBatch;
  os << ' ' << spelling(value.element) << '[';
  for (size_t i = 0; i < value.dims.size(); ++i)
    os << (i ? ", " : "") << context.text(value.dims[i].name) << " = " << value.dims[i].size;
  os << "]:";
  if (value.data.size() <= kListed) {
    for (double element : value.data) {
      os << ' ';
      printNumber(element, os);
    }
  } else {
    double sum = 0, absolute = 0;
    for (double element : value.data) {
      sum += element;
      absolute += std::fabs(element);
    }
    os << " sum ";
    printNumber(sum, os);
    os << ", sum of absolute values ";
    printNumber(absolute, os);
  }
  os << '\n';
}

} // namespace

void printResult(const InterpResult &result, const IRContext &context, llvm::raw_ostream &os) {
  for (const NamedTensor &value : result.values)
    printTensor("value", value, context, os);
  for (const NamedTensor &gradient : result.gradients)
    printTensor("gradient", gradient, context, os);
  for (const NamedTensor &state : result.states)
    printTensor("state", state, context, os);
  for (const NamedTensor &weight : result.weights)
    printTensor("weight", weight, context, os);
  for (const NamedTensor &loss : result.losses)
    printTensor("loss", loss, context, os);
  for (const NamedTensor &output : result.outputs)
    printTensor("output", output, context, os);
  if (!result.losses.empty()) {
    os << "loss ";
    printNumber(result.loss, os);
    os << '\n';
  }
}

void interpretAndPrint(const Program &program, uint64_t seed, Diagnostics &diags, llvm::raw_ostream &os) {
  try {
    InterpInputs inputs;
    inputs.seed = seed;
    printResult(interpret(program, inputs, KeepValues::All), *program.context, os);
  } catch (const InterpFault &fault) {
    diags.report(fault.where(), diag::NotRunnable{.reason = fault.what()});
  }
}

void compareRanksAndPrint(const Program &original, const Program &split, uint64_t seed, Diagnostics &diags,
                          llvm::raw_ostream &os) {
  if (split.level < Level::Laid) {
    diags.report(
        diag::PassNeedsLevel{.pass = "--compare-ranks", .needs = "level laid", .level = spelling(split.level)});
    return;
  }
  InterpInputs inputs;
  inputs.seed = seed;
  RankComparison comparison = compareRanks(original, split, inputs);
  if (!comparison.agrees()) {
    diags.report(comparison.where, diag::NotRunnable{.reason = comparison.difference});
    return;
  }
  auto count = [](size_t number, llvm::StringRef what) {
    return std::to_string(number) + " " + what.str() + (number == 1 ? "" : what.ends_with("h") ? "es" : "s");
  };
  const InterpResult &result = comparison.onRanks;
  os << "ok: " << count(static_cast<size_t>(split.mesh.ranks()), "rank") << ", "
     << count(static_cast<size_t>(split.plan.microBatches), "micro-batch") << ", "
     << count(comparison.compared, "tensor") << " alike, " << comparison.shared << " as in the original; "
     << count(result.gradients.size(), "gradient") << ", " << count(result.weights.size(), "new weight");
  if (!result.losses.empty()) {
    os << ", loss ";
    printNumber(result.loss, os);
  }
  os << '\n';
}

} // namespace stg::interp
