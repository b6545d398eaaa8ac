//===- Interpreter.cpp ----------------------------------------------------===//
// ProgramRun walks the units and owns what lives across them: weights, states, outputs of units. BodyRun evaluates one
// body, of a unit or of a call's define block, op by op; its `Leaves` are how it reaches what comes from outside.
//
// Weights are made up or looked up at first use and kept. States are read as they were before the step, whatever was
// written since; writes are collected.
//===----------------------------------------------------------------------===//
#include "stg/Interp/Interpreter.h"
#include "RunSize.h"
#include "stg/Interp/OpMeanings.h"
#include "stg/Interp/References.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg::interp {

namespace {

TensorDims concreteDims(const TensorType &type) {
  TensorDims dims;
  for (const Dim &dim : type.dims)
    dims.push_back({dim.name, sizeOf(dim.size)});
  return dims;
}

std::string describe(llvm::ArrayRef<TensorDim> dims, const IRContext &context) {
  std::string text = "[";
  for (const TensorDim &dim : dims)
    text += (text.size() > 1 ? ", " : "") + context.text(dim.name).str() + " = " + std::to_string(dim.size);
  return text + "]";
}

/// What a body reads and writes outside itself. The functions must outlive it.
struct Leaves {
  llvm::function_ref<Tensor(uint32_t slot)> input, weight, state;
  llvm::function_ref<void(uint32_t slot, Tensor value)> writeState, accumulate;
};

class BodyRun {
public:
  /// `path` stands in front of value names in messages and tells the dropouts of equal bodies apart. `elements` counts
  /// what the whole run has made, as checkRunSize knows nothing of values without a type.
  BodyRun(const Program &program, const Body &body, Leaves leaves, uint64_t seed, std::string path, int64_t &elements)
      : program_(program), body_(body), leaves_(leaves), seed_(seed), path_(std::move(path)), elements_(elements),
        values_(body.values.size()) {}

  using Values = std::vector<std::optional<Tensor>>;
  /// Ops of the forward, or those of the backward on the `values` that the forward left.
  void run(bool backward = false, Values values = {}) {
    if (backward)
      values_ = std::move(values);
    for (const Op &op : body_.ops) {
      if (backward ? op.part != Part::InputGrad && op.part != Part::WeightGrad : op.part != Part::Forward)
        continue;
      try {
        evaluate(op);
      } catch (const InterpFault &fault) {
        // A fault inside a define block passes here once per call around it.
        throw InterpFault(nameOf(op) + " (" + mnemonic(op.kind).str() + "): " + fault.what(),
                          fault.where().valid() ? fault.where() : op.where);
      }
    }
  }
  const Tensor &value(ValueId id) const { return *values_[id.index]; }
  bool has(ValueId id) const { return values_[id.index].has_value(); }
  Values takeValues() { return std::move(values_); }

private:
  std::string nameOf(const Op &op) const {
    std::string name = path_;
    if (!op.results.empty() && body_.value(op.results.front()).name)
      name += "." + program_.text(body_.value(op.results.front()).name).str();
    return name;
  }

  void evaluate(const Op &op) {
    switch (op.kind) {
#define OP(kind, ...)                                                                                                  \
  case OpKind::kind:                                                                                                   \
    return evaluate##kind(op);
#include "stg/IR/Ops.def"
    }
  }

  void define(const Op &op, Tensor value, size_t result = 0) {
    ValueId id = op.results[result];
    if (const std::optional<TensorType> &type = body_.value(id).type) {
      TensorDims stated = concreteDims(*type);
      if (stated != value.dims)
        throw InterpFault("is " + describe(value.dims, *program_.context) + ", but its type says " +
                          describe(stated, *program_.context));
      if (type->element != value.element)
        throw InterpFault("is " + spelling(value.element).str() + ", but its type says " +
                          spelling(type->element).str());
    }
    elements_ = saturatingSum(elements_, static_cast<int64_t>(value.data.size()));
    checkCount(elements_, kMostElements, "elements");
    values_[id.index] = std::move(value);
  }

  const Tensor &operand(const Op &op, size_t position = 0) const {
    if (position >= op.operands.size() || !op.operands[position] || !values_[op.operands[position].index])
      throw InterpFault("operand " + std::to_string(position) + " has no value");
    return *values_[op.operands[position].index];
  }
  std::vector<Tensor> operands(const Op &op) const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < op.operands.size(); ++i)
      all.push_back(operand(op, i));
    return all;
  }

  void evaluateInput(const Op &op) { define(op, leaves_.input(op.get<SlotFields>().slot)); }
  void evaluateWeight(const Op &op) { define(op, leaves_.weight(op.get<SlotFields>().slot)); }
  void evaluateState(const Op &op) { define(op, leaves_.state(op.get<SlotFields>().slot)); }
  void evaluateConstant(const Op &op) {
    const auto &fields = op.get<ConstantFields>();
    double number = fields.number;
    if (fields.value) {
      std::optional<Rational> exact = fields.value.rational();
      if (!exact)
        throw InterpFault("the size `" + fields.value.str() + "` has no value");
      number = exact->toDouble();
    }
    define(op, Tensor::scalar(number, fields.element));
  }
  void evaluateIota(const Op &op) {
    const auto &fields = op.get<IotaFields>();
    define(op, iota({fields.dim.name, sizeOf(fields.dim.size)}, sizeOf(fields.start), fields.element));
  }
  void evaluateContract(const Op &op) {
    const auto &fields = op.get<ContractFields>();
    define(op, contract(operands(op), fields.reduced, fields.element));
  }
  void evaluateMap(const Op &op) {
    const auto &fields = op.get<MapFields>();
    define(op, map(fields.fn, operands(op), fields.element));
  }
  void evaluateReduce(const Op &op) {
    const auto &fields = op.get<ReduceFields>();
    define(op, reduce(fields.fn, operand(op), fields.reduced, fields.element));
  }
  void evaluateStop(const Op &op) { define(op, operand(op)); }
  void evaluateDropout(const Op &op) {
    const auto &fields = op.get<DropoutFields>();
    uint64_t key =
        hashOf(hashOf(hashOf(seed_, llvm::StringRef(path_)), llvm::StringRef("dropout")), uint64_t(fields.stream));
    define(op, dropout(operand(op), fields.probability, key));
  }
  void evaluateMasked(const Op &op) {
    const auto &fields = op.get<MaskedFields>();
    define(op, masked(operand(op), visibilityOf(fields.mask), fields.query, fields.key,
                      fields.zero ? 0 : -std::numeric_limits<double>::infinity()));
  }
  void evaluateView(const Op &op) {
    const auto &fields = op.get<ViewFields>();
    llvm::SmallVector<ViewStep, 2> steps;
    for (const ViewItem &item : fields.items) {
      ViewStep step{item.from, {}};
      for (const Dim &dim : item.to)
        step.to.push_back({dim.name, sizeOf(dim.size)});
      steps.push_back(std::move(step));
    }
    define(op, view(operand(op), steps, fields.order));
  }
  void evaluateConcat(const Op &op) {
    const auto &fields = op.get<ConcatFields>();
    define(op, concat(operands(op), fields.dim.name, fields.element));
  }
  void evaluateAt(const Op &op) {
    const auto &fields = op.get<AtFields>();
    define(op, at(operand(op), fields.dim, sizeOf(fields.index)));
  }
  void evaluateSlice(const Op &op) {
    const auto &fields = op.get<SliceFields>();
    define(op, slice(operand(op), fields.from, {fields.to.name, sizeOf(fields.to.size)}, sizeOf(fields.start)));
  }
  void evaluateGather(const Op &op) { define(op, gather(operand(op), operand(op, 1), op.get<GatherFields>().dim)); }
  void evaluateScatter(const Op &op) {
    const auto &fields = op.get<ScatterFields>();
    define(op, scatter(operand(op), operand(op, 1), {fields.dim.name, sizeOf(fields.dim.size)}, fields.replaced,
                       fields.element));
  }
  void evaluateAppend(const Op &op) {
    const auto &fields = op.get<AppendFields>();
    Tensor result = append(operand(op), operand(op, 1), fields.from, fields.into);
    // What was appended stays in the state that operand 0 is.
    const Op &source = body_.op(body_.value(op.operands[0]).def);
    if (source.kind == OpKind::State)
      leaves_.writeState(source.get<SlotFields>().slot, result);
    define(op, std::move(result));
  }
  void evaluateUpdate(const Op &op) {
    uint32_t slot = op.get<SlotFields>().slot;
    TensorDims stated = concreteDims(body_.states[slot].type);
    llvm::SmallVector<NameId, 6> order;
    for (const TensorDim &dim : stated)
      order.push_back(dim.name);
    Tensor value = permuted(operand(op), order);
    if (value.dims != stated)
      throw InterpFault("writes " + describe(value.dims, *program_.context) + " to a state " +
                        describe(stated, *program_.context));
    leaves_.writeState(slot, std::move(value));
  }
  void evaluatePad(const Op &op) {
    const auto &fields = op.get<PadFields>();
    define(op, pad(operand(op), fields.from, {fields.to.name, sizeOf(fields.to.size)}, sizeOf(fields.start)));
  }
  void evaluateBroadcast(const Op &op) {
    TensorDims dims;
    for (const Dim &dim : op.get<BroadcastFields>().dims)
      dims.push_back({dim.name, sizeOf(dim.size)});
    define(op, broadcast(operand(op), dims));
  }
  [[noreturn]] void needsRanks(const Op &op) {
    throw InterpFault("`" + mnemonic(op.kind).str() + "` runs in a training step on simulated ranks only");
  }
  void evaluateAccumulate(const Op &op) { leaves_.accumulate(op.get<SlotFields>().slot, operand(op)); }
  void evaluateGradient(const Op &op) { needsRanks(op); }
  void evaluateAssign(const Op &op) { needsRanks(op); }
  void evaluateTally(const Op &op) { needsRanks(op); }
  void evaluateTotal(const Op &op) { needsRanks(op); }
  void evaluateConvert(const Op &op) { needsRanks(op); }
  void evaluateShard(const Op &op) { needsRanks(op); }
  void evaluateDemote(const Op &op) { needsRanks(op); }
  void evaluateReduceScatter(const Op &op) { needsRanks(op); }
  void evaluateAllReduce(const Op &op) { needsRanks(op); }
  void evaluateAllToAll(const Op &op) { needsRanks(op); }
  void evaluateAllGather(const Op &op) { needsRanks(op); }
  void evaluateCall(const Op &op) {
    const auto &call = op.get<CallFields>();
    if (op.operands.size() != call.operandFactors.size())
      throw InterpFault("has " + std::to_string(op.operands.size()) + " operands where its fields have " +
                        std::to_string(call.operandFactors.size()));
    std::vector<Tensor> results = call.define ? runDefine(op, call) : runReference(op, call);
    if (results.size() < op.results.size())
      throw InterpFault("gives " + std::to_string(results.size()) + " results of " + std::to_string(op.results.size()));
    for (size_t i = 0; i < op.results.size(); ++i)
      define(op, std::move(results[i]), i);
  }

  std::vector<Tensor> runReference(const Op &op, const CallFields &call) {
    llvm::StringRef callee = program_.text(call.callee);
    const Reference *reference = findReference(callee);
    if (!reference)
      throw InterpFault("`" + callee.str() + "` has neither a define block nor a reference");
    FactorNames names(call, *program_.context);
    std::vector<Tensor> inside;
    for (size_t i = 0; i < op.operands.size(); ++i)
      inside.push_back(names.toFactors(i, operand(op, i)));
    std::vector<Tensor> results = reference->run(ReferenceCall(call, *program_.context, std::move(inside)));
    for (size_t i = 0; i < results.size() && i < call.resultFactors.size(); ++i)
      results[i] = names.fromFactors(i, results[i]);
    return results;
  }

  /// A define block has the operands as input slots and the results as outputs, dim by dim.
  std::vector<Tensor> runDefine(const Op &op, const CallFields &call) {
    const Body &body = program_.body(call.define);
    auto input = [&](uint32_t slot) {
      llvm::SmallVector<NameId, 6> names;
      for (const Dim &dim : body.inputs[slot].type.dims)
        names.push_back(dim.name);
      return alignedTo(names, operand(op, slot));
    };
    auto none = [](uint32_t) -> Tensor { throw InterpFault("a define block has no weights and states"); };
    auto noWrite = [](uint32_t, Tensor) { throw InterpFault("a define block has no states"); };
    BodyRun run(program_, body, {input, none, none, noWrite, noWrite}, seed_,
                path_ + "." + program_.text(call.callee).str(), elements_);
    run.run();
    std::vector<Tensor> results;
    for (size_t i = 0; i < body.outputs.size() && i < call.resultFactors.size(); ++i) {
      llvm::SmallVector<NameId, 6> names;
      for (uint32_t factor : call.resultFactors[i])
        names.push_back(call.factors[factor].dim.name);
      results.push_back(alignedTo(names, run.value(body.outputs[i].value)));
      results.back().element = call.resultElements[i];
    }
    return results;
  }

  /// By name where the tensor has these dims. Else by position: a block may call two dims apart that are one to the
  /// caller, as the queries' and the keys' positions of self-attention.
  static Tensor alignedTo(llvm::ArrayRef<NameId> names, const Tensor &tensor) {
    bool byName = llvm::all_of(names, [&](NameId name) { return tensor.has(name); });
    return byName ? permuted(tensor, names) : renamed(tensor, names);
  }

  const Program &program_;
  const Body &body_;
  Leaves leaves_;
  uint64_t seed_;
  std::string path_;
  int64_t &elements_;
  std::vector<std::optional<Tensor>> values_;
};

class ProgramRun {
public:
  ProgramRun(const Program &program, const InterpInputs &inputs, KeepValues keep)
      : program_(program), inputs_(inputs), keep_(keep), unitOutputs_(program.units.size()),
        saved_(program.units.size()) {}

  InterpResult run() {
    checkRunSize(program_);
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      runUnit(UnitId(u), false);
    if (program_.level >= Level::Differentiated)
      for (uint32_t u = static_cast<uint32_t>(program_.units.size()); u-- > 0;)
        runUnit(UnitId(u), true);
    for (const ProgramOutput &output : program_.outputs)
      result_.outputs.push_back({program_.text(output.name).str(), outputOf(output.value)});
    return std::move(result_);
  }

private:
  void runUnit(UnitId id, bool backward) {
    const Unit &unit = program_.units[id.index];
    const Body &body = program_.body(unit);
    std::string path = program_.unitPath(unit);
    auto input = [&](uint32_t slot) { return bound(unit.inputs[slot]); };
    auto weight = [&](uint32_t slot) { return weightAt(id, slot); };
    auto state = [&](uint32_t slot) {
      auto [name, type] = stateAt(id, slot);
      return external(name, type, [&] { return Tensor::filled(type.element, concreteDims(type)); });
    };
    auto writeState = [&](uint32_t slot, Tensor value) {
      std::string name = stateAt(id, slot).first;
      for (NamedTensor &known : result_.states)
        if (known.name == name)
          return void(known.value = std::move(value));
      result_.states.push_back({std::move(name), std::move(value)});
    };
    auto accumulate = [&](uint32_t slot, Tensor value) { addGradient(id, slot, std::move(value)); };
    BodyRun run(program_, body, {input, weight, state, writeState, accumulate}, inputs_.seed, path, elements_);
    run.run(backward, std::move(saved_[id.index]));

    unitOutputs_[id.index].clear();
    for (const BodyOutput &output : body.outputs)
      unitOutputs_[id.index].push_back(run.has(output.value) ? run.value(output.value) : Tensor());
    saved_[id.index] = run.takeValues();
    if (backward)
      return;
    collect(body, path, saved_[id.index]);
  }

  void collect(const Body &body, const std::string &path, const BodyRun::Values &values) {
    for (ValueId loss : body.losses) {
      const Tensor &value = *values[loss.index];
      if (!value.dims.empty())
        throw InterpFault(path + ": a loss has dims " + describe(value.dims, *program_.context));
      result_.losses.push_back({nameOf(path, body, loss), value});
      result_.loss += value.data.front();
    }
    if (keep_ == KeepValues::All)
      for (const Op &op : body.ops)
        for (ValueId value : op.results)
          if (body.value(value).name && values[value.index])
            result_.values.push_back({nameOf(path, body, value), *values[value.index]});
  }

  void addGradient(UnitId id, uint32_t slot, Tensor value) {
    std::string name = weightName(id, slot);
    for (NamedTensor &known : result_.gradients) {
      if (known.name != name)
        continue;
      known.value = map(MapFn::Add, {known.value, value}, value.element);
      return;
    }
    result_.gradients.push_back({std::move(name), std::move(value)});
  }

  std::string nameOf(const std::string &path, const Body &body, ValueId value) const {
    NameId name = body.value(value).name;
    return name ? path + "." + program_.text(name).str() : path;
  }

  const Tensor &outputOf(UnitValue value) const {
    if (value.unit.index >= unitOutputs_.size() || value.output >= unitOutputs_[value.unit.index].size())
      throw InterpFault("a unit reads an output that no earlier unit has");
    return unitOutputs_[value.unit.index][value.output];
  }

  Tensor bound(const InputBinding &binding) {
    if (const auto *value = std::get_if<UnitValue>(&binding))
      return outputOf(*value);
    InputId id = std::get<InputId>(binding);
    const ProgramInput &input = program_.inputs[id.index];
    std::string name = program_.text(input.name).str();
    return external(name, input.type, [&] {
      int64_t bound = isFloat(input.type.element) ? 1 : indexBound(program_, id);
      return madeUpTensor(input.type.element, concreteDims(input.type), inputs_.seed, name, bound);
    });
  }

  /// Number of slots before `slot` that are not owned: its place in the unit's bindings.
  template <class Slot> static size_t bindingPlace(const std::vector<Slot> &slots, uint32_t slot) {
    size_t place = 0;
    for (uint32_t i = 0; i < slot; ++i)
      place += !slots[i].owned;
    return place;
  }

  std::string weightName(UnitId id, uint32_t slot) const {
    const Unit &unit = program_.units[id.index];
    const WeightSlot &own = program_.body(unit).weights[slot];
    if (own.owned)
      return program_.unitPath(unit) + "." + program_.text(own.name).str();
    const WeightBinding &binding = unit.weights[bindingPlace(program_.body(unit).weights, slot)];
    if (const auto *other = std::get_if<UnitSlot>(&binding))
      return weightName(other->unit, other->slot);
    return program_.text(program_.weights[std::get<WeightId>(binding).index].name).str();
  }

  Tensor weightAt(UnitId id, uint32_t slot) {
    const Unit &unit = program_.units[id.index];
    const WeightSlot &own = program_.body(unit).weights[slot];
    std::string name;
    const TensorType *type = &own.type;
    if (own.owned) {
      name = program_.unitPath(unit) + "." + program_.text(own.name).str();
    } else {
      const WeightBinding &binding = unit.weights[bindingPlace(program_.body(unit).weights, slot)];
      if (const auto *other = std::get_if<UnitSlot>(&binding))
        return weightAt(other->unit, other->slot);
      const ProgramWeight &weight = program_.weights[std::get<WeightId>(binding).index];
      name = program_.text(weight.name).str();
      type = &weight.type;
    }
    return external(name, *type,
                    [&] { return madeUpTensor(type->element, concreteDims(*type), inputs_.seed, name, 1); });
  }

  std::pair<std::string, TensorType> stateAt(UnitId id, uint32_t slot) const {
    const Unit &unit = program_.units[id.index];
    const StateSlot &own = program_.body(unit).states[slot];
    if (own.owned)
      return {program_.unitPath(unit) + "." + program_.text(own.name).str(), own.type};
    const StateBinding &binding = unit.states[bindingPlace(program_.body(unit).states, slot)];
    if (const auto *other = std::get_if<UnitSlot>(&binding))
      return stateAt(other->unit, other->slot);
    const ProgramState &state = program_.states[std::get<StateId>(binding).index];
    return {program_.text(state.name).str(), state.type};
  }

  /// The tensor given under `name`, stored as `type` says, or else what `make` makes.
  Tensor external(const std::string &name, const TensorType &type, llvm::function_ref<Tensor()> make) {
    auto known = made_.find(name);
    if (known != made_.end())
      return known->second;
    auto given = inputs_.given.find(name);
    if (given == inputs_.given.end())
      return made_.emplace(name, make()).first->second;
    TensorDims stated = concreteDims(type);
    llvm::SmallVector<NameId, 6> order;
    for (const TensorDim &dim : stated)
      order.push_back(dim.name);
    if (order.size() != given->second.dims.size() ||
        !llvm::all_of(stated, [&](const TensorDim &dim) { return llvm::is_contained(given->second.dims, dim); }))
      throw InterpFault("`" + name + "` is given as " + describe(given->second.dims, *program_.context) +
                        ", but it is " + describe(stated, *program_.context));
    Tensor tensor = permuted(given->second, order);
    tensor.element = type.element;
    return made_.emplace(name, std::move(tensor)).first->second;
  }

  const Program &program_;
  const InterpInputs &inputs_;
  KeepValues keep_;
  int64_t elements_ = 0;
  std::vector<std::vector<Tensor>> unitOutputs_;
  std::vector<BodyRun::Values> saved_; ///< per unit: what its forward computed
  std::map<std::string, Tensor> made_;
  InterpResult result_;
};

const Tensor *findNamed(const std::vector<NamedTensor> &tensors, llvm::StringRef name) {
  for (const NamedTensor &tensor : tensors)
    if (tensor.name == name)
      return &tensor.value;
  return nullptr;
}

} // namespace

const Tensor *InterpResult::output(llvm::StringRef name) const { return findNamed(outputs, name); }
const Tensor *InterpResult::state(llvm::StringRef name) const { return findNamed(states, name); }
const Tensor *InterpResult::gradient(llvm::StringRef weight) const { return findNamed(gradients, weight); }
const Tensor *InterpResult::unitValue(llvm::StringRef path) const { return findNamed(values, path); }

InterpResult interpret(const Program &program, const InterpInputs &inputs, KeepValues keep) {
  return ProgramRun(program, inputs, keep).run();
}

} // namespace stg::interp
