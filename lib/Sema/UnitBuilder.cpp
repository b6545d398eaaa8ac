//===- UnitBuilder.cpp -------------------------------------------------------===//
#include "UnitBuilder.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace stg;

std::string stg::uniqueName(llvm::StringMap<unsigned> &taken, const std::string &name) {
  unsigned &count = taken[name];
  std::string result = count == 0 ? name : name + "'" + std::to_string(count);
  ++count;
  return result;
}

void UnitBuilder::open(std::string path, int64_t index) {
  open_ = true;
  unit_ = PendingUnit();
  unit_.path = std::move(path);
  unit_.index = index;
  body_ = Body();
  body_.name = program_.context->name(unit_.path);
  imports_.clear();
  slots_.clear();
  reads_.clear();
  names_.clear();
  kernel_ = dropouts_ = 0;
}

bool UnitBuilder::close(std::string path, std::string bodyName, int64_t index) {
  open_ = false;
  if (body_.ops.empty() && body_.weights.empty() && body_.states.empty())
    return false;
  unit_.path = std::move(path);
  unit_.index = index;
  body_.name = program_.context->name(bodyName);
  unit_.body = static_cast<uint32_t>(bodies_.size());
  bodies_.push_back(std::move(body_));
  units_.push_back(std::move(unit_));
  return true;
}

UnitId UnitBuilder::repeat(UnitId model, std::string path, int64_t index, std::vector<ValueOrigin> inputs) {
  PendingUnit unit = units_[model.index];
  unit.path = std::move(path);
  unit.index = index;
  unit.inputs = std::move(inputs);
  units_.push_back(std::move(unit));
  return UnitId(static_cast<uint32_t>(units_.size() - 1));
}

ValueId UnitBuilder::local(const Tensor &tensor, std::pair<const void *, std::string> variable) {
  if (tensor.unit.valid() && tensor.unit == current())
    return tensor.value;
  ValueOrigin origin = ValueOrigin::of(tensor);
  ImportKey key{origin, variable};
  auto found = imports_.find(key);
  if (found != imports_.end())
    return found->second;
  std::string name = variable.second;
  if (!name.empty())
    ;
  else if (tensor.input.valid())
    name = program_.text(program_.inputs[tensor.input.index].name).str();
  else
    name = program_.text(bodies_[units_[tensor.unit.index].body].value(tensor.value).name).str();
  // The same body must come out whatever unit a carried value comes from: its name does not tell of rebindings there.
  name = llvm::StringRef(name).split('\'').first.str();
  Op op;
  op.kind = OpKind::Input;
  op.fields = SlotFields{static_cast<uint32_t>(body_.inputs.size())};
  // `a[0].x` and `x` may be read by one body.
  std::string slot = name;
  auto taken = [&] {
    return llvm::any_of(body_.inputs, [&](const InputSlot &known) { return program_.text(known.name) == slot; });
  };
  for (unsigned count = 1; taken(); ++count)
    slot = name + "'" + std::to_string(count);
  body_.inputs.push_back({program_.context->name(slot), tensor.type});
  unit_.inputs.push_back(origin);
  ValueId value = add(std::move(op), tensor.type, name)[0].value;
  imports_[key] = value;
  return value;
}

static WeightSlot weightSlot(NameId name, const Stored &stored, bool owned) {
  WeightSlot slot{name, stored.type, owned, stored.where};
  slot.gradient = stored.precision.gradient;
  slot.master = stored.precision.master;
  slot.moment = stored.precision.moment;
  slot.commGradient = stored.precision.commGradient;
  slot.commWeight = stored.precision.commWeight;
  return slot;
}

uint32_t UnitBuilder::slotOf(const Stored &stored) {
  if (stored.unit.valid() && stored.unit == current())
    return stored.index;
  auto key = std::make_pair(stored.isState, std::make_pair(stored.unit, stored.index));
  auto found = slots_.find(key);
  if (found != slots_.end())
    return found->second;
  NameId name = program_.context->name(stored.path);
  uint32_t slot;
  if (stored.isState) {
    slot = static_cast<uint32_t>(body_.states.size());
    body_.states.push_back({name, stored.type, false, stored.where});
    if (stored.unit.valid())
      unit_.states.push_back(UnitSlot{stored.unit, stored.index});
    else
      unit_.states.push_back(StateId(stored.index));
  } else {
    slot = static_cast<uint32_t>(body_.weights.size());
    body_.weights.push_back(weightSlot(name, stored, /*owned=*/false));
    if (stored.unit.valid())
      unit_.weights.push_back(UnitSlot{stored.unit, stored.index});
    else
      unit_.weights.push_back(WeightId(stored.index));
  }
  slots_[key] = slot;
  return slot;
}

ValueId UnitBuilder::read(const Stored &stored) {
  uint32_t slot = slotOf(stored);
  auto key = std::make_pair(stored.isState, slot);
  auto found = reads_.find(key);
  if (found != reads_.end())
    return found->second;
  Op op;
  op.kind = stored.isState ? OpKind::State : OpKind::Weight;
  op.fields = SlotFields{slot};
  op.where = stored.where;
  NameId name = stored.isState ? body_.states[slot].name : body_.weights[slot].name;
  ValueId value = add(std::move(op), stored.type, program_.text(name).str())[0].value;
  reads_[key] = value;
  return value;
}

llvm::SmallVector<Tensor, 2> UnitBuilder::add(Op op, llvm::ArrayRef<TensorType> types,
                                              llvm::ArrayRef<std::string> names) {
  OpId id(static_cast<uint32_t>(body_.ops.size()));
  llvm::SmallVector<Tensor, 2> results;
  for (size_t i = 0; i < types.size(); ++i) {
    ValueId valueId(static_cast<uint32_t>(body_.values.size()));
    Value value;
    value.type = types[i];
    value.def = id;
    value.result = static_cast<uint32_t>(i);
    value.name = program_.context->name(uniqueName(names_, names[i]));
    body_.values.push_back(std::move(value));
    op.results.push_back(valueId);
    Tensor tensor;
    tensor.type = types[i];
    tensor.unit = current();
    tensor.value = valueId;
    results.push_back(std::move(tensor));
  }
  body_.ops.push_back(std::move(op));
  return results;
}

void UnitBuilder::rename(ValueId value, const std::string &name) {
  llvm::StringRef known = program_.text(body_.value(value).name);
  if (known == name || known.starts_with(name + "'"))
    return;
  body_.values[value.index].name = program_.context->name(uniqueName(names_, name));
}

void UnitBuilder::addLoss(const Tensor &scalar) { body_.losses.push_back(local(scalar)); }

Stored UnitBuilder::declareOwned(bool isState, std::string path, TensorType type, WeightPrecision precision,
                                 SourceRange where) {
  Stored stored;
  stored.type = type;
  stored.precision = precision;
  stored.unit = current();
  stored.isState = isState;
  stored.path = std::move(path);
  stored.where = where;
  NameId name = program_.context->name(stored.path);
  if (isState) {
    stored.index = static_cast<uint32_t>(body_.states.size());
    body_.states.push_back({name, std::move(type), true, where});
  } else {
    stored.index = static_cast<uint32_t>(body_.weights.size());
    body_.weights.push_back(weightSlot(name, stored, /*owned=*/true));
  }
  return stored;
}

Stored UnitBuilder::declareGlobal(bool isState, std::string path, TensorType type, WeightPrecision precision,
                                  SourceRange where) {
  Stored stored;
  stored.type = type;
  stored.precision = precision;
  stored.isState = isState;
  stored.path = std::move(path);
  stored.where = where;
  NameId name = program_.context->name(stored.path);
  if (isState) {
    stored.index = static_cast<uint32_t>(program_.states.size());
    program_.states.push_back({name, std::move(type), where});
  } else {
    stored.index = static_cast<uint32_t>(program_.weights.size());
    program_.weights.push_back({name, std::move(type), where});
  }
  return stored;
}

std::unique_ptr<UnitBuilder::Detached> UnitBuilder::detach(llvm::ArrayRef<TensorType> operands,
                                                           llvm::ArrayRef<std::string> names,
                                                           std::vector<Tensor> &inputs) {
  auto outer =
      std::make_unique<Detached>(Detached{std::move(unit_), std::move(body_), std::move(imports_), std::move(slots_),
                                          std::move(reads_), std::move(names_), kernel_, dropouts_, open_});
  open(outer->unit.path, -1);
  for (size_t i = 0; i < operands.size(); ++i) {
    Op op;
    op.kind = OpKind::Input;
    op.fields = SlotFields{static_cast<uint32_t>(i)};
    body_.inputs.push_back({program_.context->name(names[i]), operands[i]});
    inputs.push_back(add(std::move(op), operands[i], names[i])[0]);
  }
  return outer;
}

void UnitBuilder::abandon(std::unique_ptr<Detached> outer) {
  unit_ = std::move(outer->unit);
  body_ = std::move(outer->body);
  imports_ = std::move(outer->imports);
  slots_ = std::move(outer->slots);
  reads_ = std::move(outer->reads);
  names_ = std::move(outer->names);
  kernel_ = outer->kernel;
  dropouts_ = outer->dropouts;
  open_ = outer->open;
}

BodyId UnitBuilder::attach(std::unique_ptr<Detached> outer, llvm::StringRef name,
                           llvm::ArrayRef<std::pair<std::string, Tensor>> results) {
  body_.name = program_.context->name(name);
  for (auto &[output, result] : results)
    body_.outputs.push_back({program_.context->name(output), result.value});
  Body define = std::move(body_);
  abandon(std::move(outer));
  for (size_t i = 0; i < defines_.size(); ++i)
    if (sameBody(defines_[i], define))
      return BodyId(static_cast<uint32_t>(i));
  defines_.push_back(std::move(define));
  return BodyId(static_cast<uint32_t>(defines_.size() - 1));
}

/// The slot of a value among the outputs of its body, made if it has none.
static uint32_t outputOf(Body &body, ValueId value) {
  std::vector<BodyOutput> &outputs = body.outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].value == value)
      return static_cast<uint32_t>(i);
  outputs.push_back({body.value(value).name, value});
  return static_cast<uint32_t>(outputs.size() - 1);
}

bool stg::sameBody(const Body &a, const Body &b) {
  auto sameOp = [](const Op &x, const Op &y) {
    return x.kind == y.kind && x.part == y.part && x.operands == y.operands && x.results == y.results &&
           x.fields == y.fields && x.kernel == y.kernel && x.scope == y.scope;
  };
  auto sameValue = [](const Value &x, const Value &y) {
    return x.type == y.type && x.def == y.def && x.result == y.result && x.name == y.name;
  };
  auto sameInput = [](const InputSlot &x, const InputSlot &y) { return x.name == y.name && x.type == y.type; };
  auto sameSlot = [](const auto &x, const auto &y) {
    return x.name == y.name && x.type == y.type && x.owned == y.owned;
  };
  auto sameWeight = [&](const WeightSlot &x, const WeightSlot &y) {
    return sameSlot(x, y) && x.gradient == y.gradient && x.master == y.master && x.moment == y.moment &&
           x.commGradient == y.commGradient && x.commWeight == y.commWeight;
  };
  auto sameOutput = [](const BodyOutput &x, const BodyOutput &y) { return x.name == y.name && x.value == y.value; };
  return a.name == b.name && llvm::equal(a.ops, b.ops, sameOp) && llvm::equal(a.values, b.values, sameValue) &&
         llvm::equal(a.inputs, b.inputs, sameInput) && llvm::equal(a.weights, b.weights, sameWeight) &&
         llvm::equal(a.states, b.states, sameSlot) && llvm::equal(a.outputs, b.outputs, sameOutput) &&
         a.losses == b.losses;
}

/// A cheap number that equal bodies share.
static size_t fingerprint(const Body &body) {
  llvm::hash_code code = llvm::hash_combine(body.name.index, body.ops.size(), body.values.size(), body.outputs.size());
  for (const Op &op : body.ops) {
    code = llvm::hash_combine(code, static_cast<unsigned>(op.kind), op.operands.size());
    if (auto *constant = std::get_if<ConstantFields>(&op.fields))
      code = llvm::hash_combine(code, llvm::bit_cast<uint64_t>(constant->number));
  }
  for (const Value &value : body.values)
    code = llvm::hash_combine(code, value.name.index);
  return code;
}

void UnitBuilder::finish() {
  // 1. Equal bodies become one. What of them is read elsewhere does not tell them apart: the last iteration's is often
  // less.
  std::vector<BodyId> bodyOf(bodies_.size());
  std::map<size_t, std::vector<BodyId>> byFingerprint;
  for (size_t i = 0; i < bodies_.size(); ++i) {
    auto &candidates = byFingerprint[fingerprint(bodies_[i])];
    for (BodyId candidate : candidates)
      if (sameBody(program_.body(candidate), bodies_[i]))
        bodyOf[i] = candidate;
    if (!bodyOf[i].valid()) {
      bodyOf[i] = BodyId(static_cast<uint32_t>(program_.bodies.size()));
      candidates.push_back(bodyOf[i]);
      program_.bodies.push_back(std::move(bodies_[i]));
    }
  }

  // 2. Outputs: whatever some unit, or the program, reads.
  auto read = [&](UnitId unit, ValueId value) {
    return UnitValue{unit, outputOf(program_.bodies[bodyOf[units_[unit.index].body].index], value)};
  };
  std::vector<std::vector<InputBinding>> bindings(units_.size());
  for (size_t i = 0; i < units_.size(); ++i)
    for (const ValueOrigin &origin : units_[i].inputs) {
      if (origin.input.valid())
        bindings[i].push_back(origin.input);
      else
        bindings[i].push_back(read(origin.unit, origin.value));
    }
  for (auto &[name, tensor] : outputs_)
    program_.outputs.push_back({program_.context->name(name), read(tensor.unit, tensor.value)});

  // Define and grad blocks and optimizers come behind.
  uint32_t firstDefine = static_cast<uint32_t>(program_.bodies.size());
  for (Body &define : defines_)
    program_.bodies.push_back(std::move(define));
  for (OptimizerRule &rule : program_.plan.optimizers)
    for (OptimizerBody &each : rule.bodies)
      each.body.index += firstDefine;
  for (Body &body : program_.bodies)
    for (Op &op : body.ops)
      if (auto *call = std::get_if<CallFields>(&op.fields))
        for (BodyId *block : {&call->define, &call->grad})
          if (block->valid())
            block->index += firstDefine;

  // 3. Units.
  for (size_t i = 0; i < units_.size(); ++i) {
    PendingUnit &pending = units_[i];
    Unit unit;
    unit.body = bodyOf[pending.body];
    unit.path = program_.context->name(pending.path);
    unit.index = pending.index;
    unit.inputs.assign(bindings[i].begin(), bindings[i].end());
    unit.weights.assign(pending.weights.begin(), pending.weights.end());
    unit.states.assign(pending.states.begin(), pending.states.end());
    program_.units.push_back(std::move(unit));
  }

  // 4. Different bodies need different names: `blocks`, `blocks'1`.
  llvm::StringMap<unsigned> taken;
  for (Body &body : program_.bodies)
    body.name = program_.context->name(uniqueName(taken, program_.text(body.name).str()));
}
