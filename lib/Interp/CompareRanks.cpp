//===- CompareRanks.cpp ---------------------------------------------------===//
#include "stg/Interp/CompareRanks.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <map>

namespace stg::interp {

namespace {

/// What rounding alone makes of a true 0.
constexpr double kRounding = 1e-12;

/// Where two tensors differ most; nothing if they agree. Dims are compared by text: the contexts may be two.
std::optional<std::string> differenceOf(const Tensor &wanted, const IRContext &wantedContext, const Tensor &got,
                                        const IRContext &gotContext) {
  bool sameDims = wanted.dims.size() == got.dims.size();
  for (size_t d = 0; sameDims && d < wanted.dims.size(); ++d)
    sameDims = wanted.dims[d].size == got.dims[d].size &&
               wantedContext.text(wanted.dims[d].name) == gotContext.text(got.dims[d].name);
  if (!sameDims)
    return "has other dims";
  double largest = 0, worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < wanted.data.size(); ++i) {
    double a = wanted.data[i], b = got.data[i];
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::fabs(a - b);
    if (!(difference <= worst)) {
      worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
      at = i;
    }
  }
  for (double a : wanted.data)
    if (std::isfinite(a))
      largest = std::max(largest, std::fabs(a));
  if (worst <= 1e-9 * largest + kRounding)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "is " << llvm::format("%.9g", got.data[at]) << " instead of " << llvm::format("%.9g", wanted.data[at]);
  size_t rest = at;
  std::string position;
  for (size_t d = wanted.dims.size(); d-- > 0;) {
    auto size = static_cast<size_t>(wanted.dims[d].size);
    position = wantedContext.text(wanted.dims[d].name).str() + " = " + std::to_string(rest % size) +
               (position.empty() ? "" : ", ") + position;
    rest /= size;
  }
  if (!position.empty())
    os << " at " << position;
  return text;
}

struct Side {
  const InterpResult &result;
  const IRContext &context;
  /// Set: each rank gives the positions of these dims a meaning of its own, so what has one is not compared.
  const Program *enumerates = nullptr;

  bool isComparable(const Tensor &value) const {
    return !enumerates ||
           llvm::none_of(value.dims, [&](const TensorDim &dim) { return enumerates->enumerationOf(dim.name); });
  }
};

class Comparison {
public:
  Comparison(Side wanted, Side got) : wanted_(wanted), got_(got) {}

  /// What micro-batches make. Stops at the first difference, as all do.
  void compareMicroBatches() {
    compareLists(&InterpResult::values, "", [](const NamedTensor &tensor) { return tensor.microBatch != kOfStep; });
    compareLists(&InterpResult::losses, "loss ");
    compareLists(&InterpResult::outputs, "output ");
    compareLists(&InterpResult::gradients, "gradient of ");
  }
  void compareStep() {
    compareLists(&InterpResult::values, "", [](const NamedTensor &tensor) { return tensor.microBatch == kOfStep; });
    compareLists(&InterpResult::states, "state ");
    compareLists(&InterpResult::weights, "new weight ");
  }
  const std::string &difference() const { return difference_; }
  size_t compared() const { return compared_; }

private:
  void compareLists(
      std::vector<NamedTensor> InterpResult::*list, const char *what,
      llvm::function_ref<bool(const NamedTensor &)> isMeant = [](const NamedTensor &) { return true; }) {
    std::map<std::pair<llvm::StringRef, int64_t>, const Tensor *> known;
    for (const NamedTensor &tensor : wanted_.result.*list)
      known[{tensor.name, tensor.microBatch}] = &tensor.value;
    for (const NamedTensor &tensor : got_.result.*list) {
      if (!difference_.empty())
        return;
      auto found = known.find({tensor.name, tensor.microBatch});
      if (found == known.end() || !isMeant(tensor) || !got_.isComparable(tensor.value))
        continue;
      ++compared_;
      if (auto text = differenceOf(*found->second, wanted_.context, tensor.value, got_.context))
        difference_ = what + tensor.name +
                      (tensor.microBatch == kOfStep ? " of the step"
                       : tensor.microBatch > 0      ? " in micro-batch " + std::to_string(tensor.microBatch)
                                                    : "") +
                      " " + *text;
    }
  }

  Side wanted_, got_;
  std::string difference_;
  size_t compared_ = 0;
};

/// What one run must have as another has it, where it makes it at all.
std::string missing(const InterpResult &wanted, const InterpResult &got) {
  auto lacks = [](const std::vector<NamedTensor> &list, const NamedTensor &tensor) {
    return llvm::none_of(list, [&](const NamedTensor &other) {
      return other.name == tensor.name && other.microBatch == tensor.microBatch;
    });
  };
  for (const NamedTensor &output : wanted.outputs)
    if (lacks(got.outputs, output))
      return "output " + output.name + " is not there";
  for (const NamedTensor &gradient : wanted.gradients)
    if (lacks(got.gradients, gradient))
      return "gradient of " + gradient.name + " is not there";
  if (wanted.losses.size() != got.losses.size())
    return "there are " + std::to_string(got.losses.size()) + " losses instead of " +
           std::to_string(wanted.losses.size());
  return "";
}

} // namespace

/// One device with the gradients of the ranks, which agree with its own but for rounding: an optimizer may divide one
/// that is nothing else by its own size.
static InterpResult stepOf(const Program &split, const InterpInputs &inputs, const InterpResult &onRanks,
                           InterpResult oneDevice) {
  if (onRanks.gradients.empty())
    return oneDevice;
  InterpInputs same = inputs;
  for (const NamedTensor &gradient : onRanks.gradients)
    same.gradients[gradient.name] = gradient.value;
  return interpret(split, same, KeepValues::Every);
}

RankComparison compareRanks(const Program &original, const Program &split, const InterpInputs &inputs) {
  RankComparison comparison;
  std::string run = "the original: ";
  try {
    InterpResult reference = interpret(original, inputs, KeepValues::All);
    run = "on one device: ";
    InterpResult oneDevice = interpret(split, inputs, KeepValues::Every);
    Comparison meaning({reference, *original.context}, {oneDevice, *split.context});
    std::string difference = missing(reference, oneDevice);
    if (difference.empty()) {
      meaning.compareMicroBatches();
      meaning.compareStep();
      difference = meaning.difference();
    }
    comparison.shared = meaning.compared();
    if (!difference.empty()) {
      comparison.difference = run + difference;
      return comparison;
    }
    run = "on ranks: ";
    comparison.onRanks = interpret(split, inputs, KeepValues::Every, Machine::Ranks);
    Side ranks{comparison.onRanks, *split.context, &split};
    Comparison layouts({oneDevice, *split.context}, ranks);
    layouts.compareMicroBatches();
    std::string lacking = missing(oneDevice, comparison.onRanks);
    InterpResult sameGradients = stepOf(split, inputs, comparison.onRanks, std::move(oneDevice));
    Comparison step({sameGradients, *split.context}, ranks);
    step.compareStep();
    comparison.compared = layouts.compared() + step.compared();
    for (const std::string &each : {layouts.difference(), lacking, step.difference()})
      if (difference.empty())
        difference = each;
    if (!difference.empty())
      comparison.difference = run + difference;
  } catch (const InterpFault &fault) {
    comparison.difference = run + fault.what();
    comparison.where = fault.where();
  }
  return comparison;
}

} // namespace stg::interp
