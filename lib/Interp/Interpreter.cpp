//===- Interpreter.cpp ----------------------------------------------------===//
// StepRun walks micro-batches and units and owns what lives across units (StepStore: weights, states, gradient buffers,
// scalars). A unit reaches it through its Outside.
//===----------------------------------------------------------------------===//
#include "stg/Interp/Interpreter.h"
#include "LocalOp.h"
#include "RunSize.h"
#include "StepStore.h"
#include "UnitRun.h"
#include <memory>

namespace stg::interp {

namespace {

bool isBackward(Part part) { return part == Part::InputGrad || part == Part::WeightGrad || part == Part::Recompute; }

class StepRun {
public:
  StepRun(const Program &program, const InterpInputs &inputs, KeepValues keep, RankDims *dims)
      : program_(program), inputs_(inputs), keep_(keep), context_{program, dims}, store_(context_, inputs) {
    for (const Body &body : program.bodies)
      hasMicroBatchOps_.push_back(
          llvm::any_of(body.ops, [&](const Op &op) { return op.part != Part::Sync && op.part != Part::Step; }));
  }

  InterpResult run() {
    checkRunSize(program_);
    for (microBatch_ = 0; microBatch_ < program_.plan.microBatches; ++microBatch_) {
      runMicroBatch();
      store_.commitStates();
    }
    microBatch_ = kOfStep;
    store_.replaceGradients();
    runStep();
    store_.commitStates();
    result_.states = store_.writtenStates();
    result_.gradients = store_.gradients();
    result_.weights = store_.assignedWeights();
    return std::move(result_);
  }

private:
  //===--------------------------------------------------------------------===//
  // Order of units
  //===--------------------------------------------------------------------===//

  void runMicroBatch() {
    units_.clear();
    uint64_t seed = seedOf(inputs_.seed, microBatch_);
    for (const Unit &unit : program_.units)
      units_.push_back(std::make_unique<UnitRun>(context_, program_.body(unit), program_.unitPath(unit), seed));
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      runUnit(u, [&](const Op &op) { return op.part == Part::Forward && !readsBackward(u, op); });
    for (uint32_t u = static_cast<uint32_t>(program_.units.size()); u-- > 0;)
      runUnit(u, [&](const Op &op) { return isBackward(op.part) || readsBackward(u, op); });
    for (const ProgramOutput &output : program_.outputs)
      result_.outputs.push_back({program_.text(output.name).str(), wholeOutput(output.value), microBatch_});
  }

  void runStep() {
    auto count = static_cast<uint32_t>(program_.units.size());
    auto runPart = [&](uint32_t u, Part part) { runUnit(u, [&](const Op &op) { return op.part == part; }); };
    for (bool last : {false, true})
      for (uint32_t u = count; u-- > 0;)
        if (runsInMicroBatches(u) != last)
          runPart(u, Part::Sync);
    for (bool first : {true, false})
      for (uint32_t u = 0; u < count; ++u)
        if (runsInMicroBatches(u) != first)
          runPart(u, Part::Step);
  }

  bool runsInMicroBatches(uint32_t unit) const { return hasMicroBatchOps_[program_.units[unit].body.index]; }

  /// Whether it brings in what a later unit's backward has made.
  bool readsBackward(uint32_t unit, const Op &op) const {
    return op.kind == OpKind::Input &&
           program_.body(program_.units[unit]).inputs[op.get<SlotFields>().slot].role != SlotRole::Value;
  }

  //===--------------------------------------------------------------------===//
  // One unit
  //===--------------------------------------------------------------------===//

  class Outside : public UnitOutside {
  public:
    Outside(StepRun &step, UnitId id) : step_(step), id_(id) {}

    RankTensors input(uint32_t slot) override { return step_.bound(id_, slot); }
    RankTensors weight(uint32_t slot) override { return step_.store_.weight(id_, slot); }
    RankTensors state(uint32_t slot) override { return step_.store_.state(id_, slot); }
    RankTensors gradient(uint32_t slot) override { return step_.store_.gradient(id_, slot); }
    RankTensors total(uint32_t scalar, const Value &result) override { return step_.store_.total(scalar, result); }
    void writeState(uint32_t slot, RankTensors value) override { step_.store_.writeState(id_, slot, std::move(value)); }
    void accumulate(uint32_t slot, const Value &operand, const RankTensors &value) override {
      step_.store_.accumulate(id_, slot, operand, value);
    }
    void assign(uint32_t slot, const Value &operand, RankTensors value) override {
      step_.store_.assign(id_, slot, operand, std::move(value));
    }
    void tally(uint32_t scalar, const Value &operand, const RankTensors &value) override {
      step_.store_.tally(scalar, operand, value);
    }

  private:
    StepRun &step_;
    UnitId id_;
  };

  void runUnit(uint32_t u, llvm::function_ref<bool(const Op &)> wanted) {
    const Body &body = program_.body(program_.units[u]);
    UnitRun &unit = *units_[u];
    Outside outside(*this, UnitId(u));
    unit.run(outside, wanted, [&](ValueId id, const RankTensors &made) {
      const Value &value = body.value(id);
      auto losses = llvm::count(body.losses, id);
      bool isKept = keep_ == KeepValues::Every || (keep_ == KeepValues::All && value.name);
      if (!losses && !isKept && !context_.dims)
        return;
      // Putting the value together also compares what ranks should hold alike.
      Tensor whole = value.type ? context_.whole(*value.type, value.layout, made) : made.front();
      for (; losses > 0; --losses)
        keepLoss(unit.nameOf(id), whole);
      if (isKept)
        result_.values.push_back({value.name ? unit.nameOf(id) : unit.nameOf(id) + ".%" + numberOf(body, id),
                                  std::move(whole), microBatch_});
    });
  }

  /// What the printer calls a value without a name.
  static std::string numberOf(const Body &body, ValueId id) {
    size_t number = 0;
    for (const Op &op : body.ops)
      for (ValueId result : op.results) {
        if (result == id)
          return std::to_string(number);
        ++number;
      }
    return "?";
  }

  void keepLoss(const std::string &name, const Tensor &value) {
    if (!value.dims.empty())
      throw InterpFault("a loss has dims " + describe(value.dims, *program_.context));
    result_.losses.push_back({name, value, microBatch_});
    result_.loss += value.data.front() / static_cast<double>(program_.plan.microBatches);
  }

  const Value &outputValue(UnitValue from) const {
    const Body &body = program_.body(program_.units[from.unit.index]);
    return body.value(body.outputs[from.output].value);
  }
  const RankTensors &outputOf(UnitValue from) const {
    if (from.unit.index >= units_.size() ||
        from.output >= program_.body(program_.units[from.unit.index]).outputs.size())
      throw InterpFault("a unit reads an output that no unit has");
    return units_[from.unit.index]->value(program_.body(program_.units[from.unit.index]).outputs[from.output].value);
  }
  Tensor wholeOutput(UnitValue from) const {
    const RankTensors &parts = outputOf(from);
    const Value &value = outputValue(from);
    return value.type ? context_.whole(*value.type, value.layout, parts) : parts.front();
  }

  RankTensors bound(UnitId id, uint32_t slot) {
    const Unit &unit = program_.units[id.index];
    const InputSlot &own = program_.body(unit).inputs[slot];
    const InputBinding &binding = unit.inputs[slot];
    if (const auto *input = std::get_if<InputId>(&binding))
      return store_.input(*input, own, std::max<int64_t>(microBatch_, 0));
    auto from = std::get<UnitValue>(binding);
    const RankTensors &parts = outputOf(from);
    if (context_.dims && outputValue(from).layout != own.layout)
      throw InterpFault("reads " + program_.text(own.name).str() + " in another layout than the unit that makes it");
    return parts;
  }

  const Program &program_;
  const InterpInputs &inputs_;
  KeepValues keep_;
  RunContext context_;
  StepStore store_;
  std::vector<bool> hasMicroBatchOps_;          ///< by body
  std::vector<std::unique_ptr<UnitRun>> units_; ///< of the current micro-batch; the last one's for the step
  int64_t microBatch_ = 0;
  InterpResult result_;
};

const Tensor *findNamed(const std::vector<NamedTensor> &tensors, llvm::StringRef name, int64_t microBatch = 0) {
  for (const NamedTensor &tensor : tensors)
    if (tensor.name == name && tensor.microBatch == microBatch)
      return &tensor.value;
  return nullptr;
}

} // namespace

const Tensor *InterpResult::output(llvm::StringRef name, int64_t microBatch) const {
  return findNamed(outputs, name, microBatch);
}
const Tensor *InterpResult::state(llvm::StringRef name) const { return findNamed(states, name); }
const Tensor *InterpResult::gradient(llvm::StringRef weight) const { return findNamed(gradients, weight); }
const Tensor *InterpResult::weight(llvm::StringRef name) const { return findNamed(weights, name); }
const Tensor *InterpResult::unitValue(llvm::StringRef path, int64_t microBatch) const {
  return findNamed(values, path, microBatch);
}

InterpResult interpret(const Program &program, const InterpInputs &inputs, KeepValues keep, Machine machine) {
  if (machine == Machine::OneDevice)
    return StepRun(program, inputs, keep, nullptr).run();
  if (program.level < Level::Laid)
    throw InterpFault("a program of level " + spelling(program.level).str() + " has no layouts to run on ranks");
  RankDims dims(program);
  return StepRun(program, inputs, keep, &dims).run();
}

} // namespace stg::interp
