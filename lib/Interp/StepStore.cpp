//===- StepStore.cpp ------------------------------------------------------===//
#include "StepStore.h"
#include "LocalOp.h"

namespace stg::interp {

namespace {

/// Number of slots before `slot` that are not owned: its place in the unit's bindings.
template <class Slot> size_t bindingPlace(const std::vector<Slot> &slots, uint32_t slot) {
  size_t place = 0;
  for (uint32_t i = 0; i < slot; ++i)
    place += !slots[i].owned;
  return place;
}

void add(const RankTensors &values, RankTensors &sums) {
  for (size_t rank = 0; rank < values.size(); ++rank)
    for (size_t i = 0; i < values[rank].data.size(); ++i)
      sums[rank].data[i] += values[rank].data[i];
}

} // namespace

template <class Entry>
Entry *StepStore::find(std::vector<Entry> &list, llvm::StringRef name, const std::optional<Layout> &layout) {
  for (Entry &entry : list)
    if (entry.name == name && entry.layout == layout)
      return &entry;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// From outside
//===----------------------------------------------------------------------===//

const Tensor *StepStore::givenFor(const std::string &name) const {
  auto given = inputs_.given.find(name);
  return given == inputs_.given.end() ? nullptr : &given->second;
}

const Tensor &StepStore::external(const std::string &key, const std::string &name, const TensorType &type,
                                  const Tensor *given, llvm::function_ref<Tensor()> make) {
  auto known = externals_.find(key);
  if (known != externals_.end())
    return known->second;
  if (!given)
    return externals_.emplace(key, make()).first->second;
  TensorDims stated = wholeDims(type);
  llvm::SmallVector<NameId, 6> order;
  for (const TensorDim &dim : stated)
    order.push_back(dim.name);
  if (order.size() != given->dims.size() ||
      !llvm::all_of(stated, [&](const TensorDim &dim) { return llvm::is_contained(given->dims, dim); }))
    throw InterpFault("`" + name + "` is given as " + describe(given->dims, *context_.program.context) +
                      ", but it is " + describe(stated, *context_.program.context));
  Tensor tensor = permuted(*given, order);
  tensor.element = type.element;
  return externals_.emplace(key, std::move(tensor)).first->second;
}

RankTensors StepStore::input(InputId id, const InputSlot &slot, int64_t microBatch) {
  const ProgramInput &input = context_.program.inputs[id.index];
  std::string name = context_.program.text(input.name).str();
  const Tensor *given = givenFor(name);
  if (static_cast<size_t>(microBatch) < inputs_.givenTo.size()) {
    const auto &own = inputs_.givenTo[static_cast<size_t>(microBatch)];
    if (auto found = own.find(name); found != own.end())
      given = &found->second;
  }
  std::string key = "input " + std::to_string(microBatch) + " " + name;
  const Tensor &whole = external(key, name, input.type, given, [&] {
    int64_t bound = isFloat(input.type.element) ? 1 : indexBound(context_.program, id);
    return madeUpTensor(input.type.element, wholeDims(input.type), seedOf(inputs_.seed, microBatch), name, bound);
  });
  return context_.parts(whole, input.type, slot.layout);
}

std::pair<std::string, TensorType> StepStore::weightAt(UnitId id, uint32_t slot) const {
  const Program &program = context_.program;
  const Unit &unit = program.units[id.index];
  const WeightSlot &own = program.body(unit).weights[slot];
  if (own.owned)
    return {program.unitPath(unit) + "." + program.text(own.name).str(), own.type};
  const WeightBinding &binding = unit.weights[bindingPlace(program.body(unit).weights, slot)];
  if (const auto *other = std::get_if<UnitSlot>(&binding))
    return weightAt(other->unit, other->slot);
  const ProgramWeight &weight = program.weights[std::get<WeightId>(binding).index];
  return {program.text(weight.name).str(), weight.type};
}

const Tensor &StepStore::wholeWeight(UnitId unit, uint32_t slot) {
  auto [name, type] = weightAt(unit, slot);
  return external("weight " + name, name, type, givenFor(name), [&, &name = name, &type = type] {
    return madeUpTensor(type.element, wholeDims(type), inputs_.seed, name, 1);
  });
}

RankTensors StepStore::weight(UnitId unit, uint32_t slot) {
  const Program &program = context_.program;
  const std::optional<Layout> &layout = program.body(program.units[unit.index]).weights[slot].layout;
  return context_.parts(wholeWeight(unit, slot), weightAt(unit, slot).second, layout);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

std::pair<std::string, TensorType> StepStore::stateAt(UnitId id, uint32_t slot) const {
  const Program &program = context_.program;
  const Unit &unit = program.units[id.index];
  const StateSlot &own = program.body(unit).states[slot];
  if (own.owned)
    return {program.unitPath(unit) + "." + program.text(own.name).str(), own.type};
  const StateBinding &binding = unit.states[bindingPlace(program.body(unit).states, slot)];
  if (const auto *other = std::get_if<UnitSlot>(&binding))
    return stateAt(other->unit, other->slot);
  const ProgramState &state = program.states[std::get<StateId>(binding).index];
  return {program.text(state.name).str(), state.type};
}

int64_t StepStore::timeOf(int64_t microBatch) const {
  return microBatch == kOfStep ? context_.program.plan.microBatches : microBatch;
}

RankTensors StepStore::state(UnitId unit, uint32_t slot, int64_t microBatch) {
  auto [name, type] = stateAt(unit, slot);
  const std::optional<Layout> &layout = context_.program.body(context_.program.units[unit.index]).states[slot].layout;
  if (StoredState *state = find(states_, name, layout))
    if (auto behind = state->writes.lower_bound(timeOf(microBatch)); behind != state->writes.begin())
      return std::prev(behind)->second;
  const Tensor &whole = external("state " + name, name, type, givenFor(name), [&, &type = type] {
    Tensor zeros = Tensor::filled(type.element, wholeDims(type));
    if (std::optional<Tensor> weight = masteredWeight(unit, slot))
      zeros.data = weight->data;
    return zeros;
  });
  return context_.parts(whole, type, layout);
}

std::optional<Tensor> StepStore::masteredWeight(UnitId unit, uint32_t slot) {
  const Body &body = context_.program.body(context_.program.units[unit.index]);
  llvm::StringRef weight = context_.program.text(body.states[slot].name);
  if (!weight.consume_back(".master"))
    return std::nullopt;
  for (uint32_t i = 0; i < body.weights.size(); ++i)
    if (context_.program.text(body.weights[i].name) == weight)
      return wholeWeight(unit, i);
  return std::nullopt;
}

void StepStore::writeState(UnitId unit, uint32_t slot, int64_t microBatch, RankTensors value) {
  auto [name, type] = stateAt(unit, slot);
  const std::optional<Layout> &layout = context_.program.body(context_.program.units[unit.index]).states[slot].layout;
  StoredState *state = find(states_, name, layout);
  if (!state)
    state = &states_.emplace_back(StoredState{name, type, layout, {}});
  state->writes[timeOf(microBatch)] = std::move(value);
}

//===----------------------------------------------------------------------===//
// Gradients, new weights, scalars
//===----------------------------------------------------------------------===//

void StepStore::accumulate(UnitId unit, uint32_t slot, const Value &operand, const RankTensors &value) {
  const WeightSlot &own = context_.program.body(context_.program.units[unit.index]).weights[slot];
  if (context_.dims && operand.layout != own.buffer)
    throw InterpFault("adds to a gradient buffer of another layout");
  std::string name = weightAt(unit, slot).first;
  Stored *buffer = find(buffers_, name, own.buffer);
  if (!buffer) {
    TensorType type = own.type;
    type.element = own.gradient;
    buffer = &buffers_.emplace_back(Stored{name, type, own.buffer, value});
    for (Tensor &part : buffer->parts)
      part.element = type.element;
    return;
  }
  add(value, buffer->parts);
}

RankTensors StepStore::gradient(UnitId unit, uint32_t slot) const {
  const WeightSlot &own = context_.program.body(context_.program.units[unit.index]).weights[slot];
  std::string name = weightAt(unit, slot).first;
  for (const Stored &buffer : buffers_)
    if (buffer.name == name && buffer.layout == own.buffer)
      return buffer.parts;
  throw InterpFault("reads the gradient of `" + name + "`, to which nothing was added");
}

void StepStore::sumBuffers(llvm::ArrayRef<StepStore *> holders, const std::string &weight) {
  std::vector<Stored> sums;
  for (const StepStore *holder : holders)
    for (const Stored &buffer : holder->buffers_)
      if (buffer.name == weight) {
        if (Stored *sum = find(sums, weight, buffer.layout))
          add(buffer.parts, sum->parts);
        else
          sums.push_back(buffer);
      }
  for (StepStore *holder : holders)
    for (const Stored &sum : sums)
      if (Stored *buffer = find(holder->buffers_, weight, sum.layout))
        buffer->parts = sum.parts;
      else
        holder->buffers_.push_back(sum);
}

void StepStore::replaceGradients() {
  std::map<std::string, Stored *> first;
  for (Stored &buffer : buffers_) {
    auto given = inputs_.gradients.find(buffer.name);
    if (given == inputs_.gradients.end())
      continue;
    auto [known, isFirst] = first.try_emplace(buffer.name, &buffer);
    std::vector<double> &rest = known->second->parts.front().data;
    if (isFirst)
      rest = given->second.data;
    else
      for (size_t i = 0; i < rest.size(); ++i)
        rest[i] -= buffer.parts.front().data[i];
  }
}

void StepStore::assign(UnitId unit, uint32_t slot, const Value &operand, RankTensors value) {
  const WeightSlot &own = context_.program.body(context_.program.units[unit.index]).weights[slot];
  if (context_.dims && operand.layout != own.layout)
    throw InterpFault("assigns a weight in another layout than its home");
  auto [name, type] = weightAt(unit, slot);
  for (Tensor &part : value)
    part.element = type.element;
  if (Stored *known = find(assigned_, name, own.layout)) {
    // On one device the steps of all ranks of a pipeline come together.
    for (size_t rank = 0; rank < value.size(); ++rank)
      if (!context_.program.pipeline || (context_.dims && !context_.dims->areAll()) ||
          !(largestDifference(known->parts[rank], value[rank]) <= 1e-9))
        throw InterpFault("assigns `" + name + "` again");
    return;
  }
  assigned_.push_back({name, type, own.layout, std::move(value)});
}

bool StepStore::lacksNew(const std::string &weight) const {
  return externals_.contains("weight " + weight) &&
         llvm::none_of(assigned_, [&](const Stored &stored) { return stored.name == weight; });
}

std::string StepStore::scalarName(uint32_t scalar) const {
  return "`" + context_.program.text(context_.program.scalars[scalar]).str() + "`";
}

void StepStore::tally(uint32_t scalar, const Value &operand, const RankTensors &value) {
  auto [known, isNew] = scalars_.try_emplace(scalar, Stored{"", {}, operand.layout, value});
  if (isNew)
    return;
  if (context_.dims && known->second.layout != operand.layout)
    throw InterpFault("adds to the scalar " + scalarName(scalar) + " in another layout than earlier tallies");
  add(value, known->second.parts);
}

RankTensors StepStore::total(uint32_t scalar, const Value &result) const {
  auto known = scalars_.find(scalar);
  if (known == scalars_.end())
    return RankTensors(context_.ranks(), Tensor::scalar(0));
  if (context_.dims && known->second.layout != result.layout)
    throw InterpFault("reads the scalar " + scalarName(scalar) + " in another layout than its tallies");
  return known->second.parts;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::vector<NamedTensor> StepStore::wholes(const std::vector<Stored> &list) const {
  std::vector<NamedTensor> all;
  for (const Stored &stored : list)
    all.push_back({stored.name, context_.whole(stored.type, stored.layout, stored.parts)});
  return all;
}

std::vector<NamedTensor> StepStore::writtenStates() const {
  std::vector<NamedTensor> all;
  for (const StoredState &state : states_)
    all.push_back({state.name, context_.whole(state.type, state.layout, state.writes.rbegin()->second)});
  return all;
}

std::vector<NamedTensor> StepStore::gradients() const {
  std::vector<NamedTensor> all;
  for (NamedTensor &buffer : wholes(buffers_)) {
    auto known = llvm::find_if(all, [&](const NamedTensor &other) { return other.name == buffer.name; });
    if (known == all.end())
      all.push_back(std::move(buffer));
    else
      for (size_t i = 0; i < buffer.value.data.size(); ++i)
        known->value.data[i] += buffer.value.data[i];
  }
  return all;
}

std::vector<NamedTensor> StepStore::assignedWeights() const {
  std::vector<NamedTensor> all;
  for (NamedTensor &weight : wholes(assigned_)) {
    auto known = llvm::find_if(all, [&](const NamedTensor &other) { return other.name == weight.name; });
    if (known == all.end())
      all.push_back(std::move(weight));
    else if (!(largestDifference(known->value, weight.value) <= 1e-9))
      throw InterpFault("the two copies of `" + weight.name + "` differ after the step");
  }
  return all;
}

} // namespace stg::interp
