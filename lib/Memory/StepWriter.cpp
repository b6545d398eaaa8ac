//===- StepWriter.cpp - sync and step of weights that a body steps ----------===//
#include "StepWriter.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

std::optional<uint32_t> StepWriter::scalar(llvm::StringRef name) const {
  for (uint32_t i = 0; i < program_.scalars.size(); ++i)
    if (program_.text(program_.scalars[i]) == name)
      return i;
  return std::nullopt;
}

llvm::StringRef StepWriter::slotName(const StepBuilder &builder, uint32_t slot) {
  return program_.text(const_cast<StepBuilder &>(builder).body().weights[slot].name);
}

void StepWriter::sync(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots, llvm::ArrayRef<TrainedSlot> counted) {
  gradients_.clear();
  if (slots.empty())
    return;
  builder.begin(Part::Sync, NameId(), builder.body().weights[slots[0].slot].where);
  std::vector<std::optional<ValueId>> gradients(slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    if (builder.body().weights[slots[i].slot].buffer)
      gradients[i] = readBuffer(builder, slots[i]);
  sumToShards(builder, slots, gradients);
  sumRest(builder, slots, gradients);
  castBack(builder, slots, gradients);
  mergeGroups(builder, slots, gradients);
  tallyNorm(builder, counted);
}

ValueId StepWriter::readBuffer(StepBuilder &builder, const TrainedSlot &slot) {
  const WeightSlot &weight = builder.body().weights[slot.slot];
  builder.at(weight.where);
  AtomList scattered;
  for (uint32_t atom : weight.buffer->partialAtoms())
    if (weight.layout->places[atom].isSplit() && !llvm::is_contained(slot.forms.atoms, atom))
      scattered.push_back(atom);
  Layout home = *weight.layout;
  std::string name = slotName(builder, slot.slot).str() + ".grad";
  ValueId gradient = builder.add(OpKind::Gradient, {}, SlotFields{slot.slot}, {weight.gradient, weight.type.dims},
                                 Layout(*weight.buffer), name);
  if (weight.commGradient && !weight.buffer->partialAtoms().empty())
    gradient = builder.cast(gradient, *weight.commGradient, name + ".sent");
  return builder.reduceScatter(gradient, scattered, home, name);
}

void StepWriter::castBack(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                          std::vector<std::optional<ValueId>> &gradients) {
  builder.nextKernel();
  for (size_t i = 0; i < slots.size(); ++i)
    if (gradients[i])
      gradients[i] = builder.cast(*gradients[i], builder.body().weights[slots[i].slot].gradient,
                                  slotName(builder, slots[i].slot).str() + ".grad");
}

void StepWriter::addTo(std::vector<GradientBucket> &buckets, const AtomList &atoms, const TrainedSlot &slot,
                       size_t index, const StepBuilder &builder, ValueId value) {
  const StorageRule *rule = slot.forms.rule;
  ElementType element = builder.typeOf(value).element;
  uint32_t own = rule && rule->unit == StorageUnit::Weight ? slot.slot : ~0u;
  bool allReduces = rule && rule->allReduces;
  auto bucket = llvm::find_if(buckets, [&](const GradientBucket &each) {
    return each.atoms == atoms && each.element == element && each.slot == own && each.allReduces == allReduces;
  });
  if (bucket == buckets.end())
    bucket = buckets.insert(buckets.end(), {atoms, element, own, allReduces, {}, {}});
  bucket->values.push_back(value);
  bucket->of.push_back(index);
}

void StepWriter::sumToShards(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                             std::vector<std::optional<ValueId>> &gradients) {
  std::vector<GradientBucket> buckets;
  for (size_t i = 0; i < slots.size(); ++i) {
    AtomList atoms;
    for (uint32_t atom : slots[i].forms.atoms)
      if (gradients[i] && slots[i].forms.optimizer.places[atom].isSplit() &&
          builder.layoutOf(*gradients[i]).places[atom].isPartial())
        atoms.push_back(atom);
    if (!atoms.empty())
      addTo(buckets, atoms, slots[i], i, builder, *gradients[i]);
  }
  for (const GradientBucket &bucket : buckets) {
    builder.at(slots[bucket.of[0]].forms.rule->where);
    llvm::SmallVector<ValueId, 8> results;
    for (size_t k = 0; k < bucket.values.size(); ++k) {
      Layout layout = builder.layoutOf(bucket.values[k]);
      for (uint32_t atom : bucket.atoms)
        layout.places[atom] = bucket.allReduces ? Place::whole() : slots[bucket.of[k]].forms.optimizer.places[atom];
      TensorType type = builder.typeOf(bucket.values[k]);
      results.push_back(builder.newValue(std::move(type), std::move(layout),
                                         slotName(builder, slots[bucket.of[k]].slot).str() + ".grad"));
      gradients[bucket.of[k]] = results.back();
    }
    builder.storageCollective(bucket.allReduces ? OpKind::AllReduce : OpKind::ReduceScatter, bucket.values,
                              bucket.atoms, results);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!gradients[i])
      continue;
    Layout shard = builder.layoutOf(*gradients[i]);
    for (uint32_t atom : slots[i].forms.atoms)
      if (shard.places[atom].isWhole())
        shard.places[atom] = slots[i].forms.optimizer.places[atom];
    builder.at(builder.body().weights[slots[i].slot].where);
    gradients[i] = builder.convert(*gradients[i], shard, slotName(builder, slots[i].slot).str() + ".grad");
  }
}

void StepWriter::sumRest(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                         std::vector<std::optional<ValueId>> &gradients) {
  std::vector<GradientBucket> buckets;
  for (size_t i = 0; i < slots.size(); ++i)
    if (gradients[i])
      addTo(buckets, builder.layoutOf(*gradients[i]).partialAtoms(), slots[i], i, builder, *gradients[i]);
  for (const GradientBucket &bucket : buckets) {
    builder.at(builder.body().weights[slots[bucket.of[0]].slot].where);
    auto values = builder.allReduce(bucket.values, bucket.atoms);
    for (size_t k = 0; k < values.size(); ++k)
      gradients[bucket.of[k]] = values[k];
  }
}

void StepWriter::mergeGroups(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                             llvm::ArrayRef<std::optional<ValueId>> complete) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!complete[i])
      continue;
    auto known = llvm::find_if(gradients_, [&](const auto &pair) { return pair.first == slots[i].group; });
    if (known == gradients_.end()) {
      gradients_.push_back({slots[i].group, *complete[i]});
      continue;
    }
    builder.at(builder.body().weights[slots[i].slot].where);
    std::string name = slotName(builder, slots[i].slot).str() + ".grad";
    ValueId moved = builder.convert(*complete[i], builder.layoutOf(known->second), name);
    known->second = builder.map(MapFn::Add, {known->second, moved}, builder.typeOf(known->second).element, name);
  }
}

ValueId StepWriter::gradientOf(uint32_t group) const {
  for (const auto &[known, value] : gradients_)
    if (known == group)
      return value;
  internalError("gradient", "of a weight was not synchronised");
}

void StepWriter::tallyNorm(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> counted) {
  std::optional<uint32_t> norm = scalar("grad_norm");
  if (!norm || program_.plan.clip == 0 || counted.empty())
    return;
  llvm::SmallVector<ValueId, 8> shares;
  for (const auto &[group, gradient] : gradients_) {
    if (llvm::none_of(counted, [&, group = group](const TrainedSlot &slot) { return slot.group == group; }))
      continue;
    builder.nextKernel();
    builder.at(builder.body().weights[group].where);
    ValueId square = builder.sumOfSquares(gradient, slotName(builder, group).str() + ".norm");
    AtomList whole;
    for (uint32_t atom = 0; atom < builder.atoms().size(); ++atom)
      if (builder.layoutOf(square).places[atom].isWhole())
        whole.push_back(atom);
    shares.push_back(builder.demote(square, whole, slotName(builder, group).str() + ".norm"));
  }
  builder.nextKernel();
  if (shares.empty())
    return;
  ValueId sum = shares.size() == 1 ? shares[0] : builder.map(MapFn::Add, shares, ElementType::F32, "norm");
  builder.addEffect(OpKind::Tally, sum, {*norm});
}

ValueId StepWriter::readScalar(StepBuilder &builder, uint32_t scalar, const AtomList &partial, llvm::StringRef name) {
  Layout layout(builder.atoms().size());
  for (uint32_t atom : partial)
    layout.places[atom] = Place::partial();
  return builder.add(OpKind::Total, {}, SlotFields{scalar}, {ElementType::F32, {}}, std::move(layout), name);
}

void StepWriter::step(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots) {
  std::optional<uint32_t> scaleSlot = scalar("clip_scale");
  ValueId scale;
  std::vector<NewWeight> gathered;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].slot != slots[i].group)
      continue;
    WeightSlot weight = builder.body().weights[slots[i].slot];
    weight.layout = slots[i].forms.optimizer;
    builder.begin(Part::Step, weight.name, weight.where);
    if (scaleSlot && program_.plan.clip != 0 && !scale)
      scale = readScalar(builder, *scaleSlot, {}, "clip_scale");
    std::string name = program_.text(weight.name).str();
    ValueId gradient = gradientOf(slots[i].group);
    if (scale)
      gradient = builder.map(MapFn::Mul, {gradient, scale}, weight.gradient, name + ".grad");
    ValueId updated = updateWeight(builder, slots[i], weight, gradient, name);
    std::vector<Layout> assigned; // slots that differ in their gradient buffers only are one weight
    for (const TrainedSlot &other : slots) {
      const Layout &layout = *builder.body().weights[other.slot].layout;
      if (other.group != slots[i].group || llvm::is_contained(assigned, layout))
        continue;
      assigned.push_back(layout);
      if (isGathered(builder.layoutOf(updated), layout, slots[i].forms))
        gathered.push_back({&slots[i], other.slot, updated});
      else
        builder.addEffect(OpKind::Assign, builder.convert(updated, layout, name), {other.slot});
    }
  }
  gatherNew(builder, gathered);
}

bool StepWriter::isGathered(const Layout &from, const Layout &to, const StoredForms &forms) {
  bool differs = false;
  for (uint32_t atom = 0; atom < from.places.size(); ++atom) {
    if (from.places[atom] == to.places[atom])
      continue;
    if (!llvm::is_contained(forms.atoms, atom) || !to.places[atom].isWhole())
      return false;
    differs = true;
  }
  return differs;
}

void StepWriter::gatherNew(StepBuilder &builder, llvm::ArrayRef<NewWeight> gathered) {
  if (gathered.empty())
    return;
  std::vector<GradientBucket> buckets;
  builder.begin(Part::Step, NameId(), gathered[0].of->forms.rule->where);
  for (size_t i = 0; i < gathered.size(); ++i) {
    AtomList atoms;
    const Layout &wanted = *builder.body().weights[gathered[i].slot].layout;
    for (uint32_t atom : gathered[i].of->forms.atoms)
      if (builder.layoutOf(gathered[i].shard).places[atom] != wanted.places[atom])
        atoms.push_back(atom);
    const WeightSlot &weight = builder.body().weights[gathered[i].slot];
    ElementType sent = weight.commWeight.value_or(weight.type.element);
    ValueId shard = builder.cast(gathered[i].shard, sent, program_.text(weight.name).str() + ".sent");
    addTo(buckets, atoms, *gathered[i].of, i, builder, shard);
  }
  for (const GradientBucket &bucket : buckets) {
    builder.begin(Part::Step, NameId(), gathered[bucket.of[0]].of->forms.rule->where);
    llvm::SmallVector<ValueId, 8> results;
    for (size_t i : bucket.of) {
      const WeightSlot &weight = builder.body().weights[gathered[i].slot];
      results.push_back(
          builder.newValue({bucket.element, weight.type.dims}, *weight.layout, program_.text(weight.name)));
    }
    builder.storageCollective(OpKind::AllGather, bucket.values, bucket.atoms, results);
    builder.nextKernel();
    for (size_t k = 0; k < results.size(); ++k) {
      uint32_t slot = gathered[bucket.of[k]].slot;
      ValueId received = builder.cast(results[k], builder.body().weights[slot].type.element, slotName(builder, slot));
      builder.addEffect(OpKind::Assign, received, {slot});
    }
  }
}

ValueId StepWriter::updateWeight(StepBuilder &builder, const TrainedSlot &slot, const WeightSlot &weight,
                                 ValueId gradient, const std::string &name) {
  bool hasMaster = weight.master != weight.type.element;
  TensorType type{hasMaster ? weight.master : weight.type.element, weight.type.dims};
  ValueId old;
  uint32_t master = 0;
  if (hasMaster) {
    master = declareState(builder, name + ".master", type, *weight.layout, weight.where);
    old = builder.add(OpKind::State, {}, SlotFields{master}, type, *weight.layout, name + ".master");
  } else {
    Layout stored = *builder.body().weights[slot.slot].layout;
    old = builder.add(OpKind::Weight, {}, SlotFields{slot.slot}, type, std::move(stored), name);
    old = builder.convert(old, *weight.layout, name);
  }
  ValueId updated = inlineOptimizer(builder, slot, weight, old, gradient, name);
  if (hasMaster)
    builder.addEffect(OpKind::Update, updated, {master});
  return builder.cast(updated, weight.type.element, name);
}

uint32_t StepWriter::declareState(StepBuilder &builder, const std::string &name, TensorType type, Layout layout,
                                  SourceRange where) {
  builder.body().states.push_back({context_.name(name), std::move(type), true, where, std::move(layout)});
  return static_cast<uint32_t>(builder.body().states.size() - 1);
}

ValueId StepWriter::inlineOptimizer(StepBuilder &builder, const TrainedSlot &slot, const WeightSlot &weight,
                                    ValueId old, ValueId gradient, const std::string &name) {
  const Body optimizer = program_.body(slot.optimizer);
  std::vector<ValueId> values(optimizer.values.size());
  std::vector<uint32_t> states(optimizer.states.size(), ~0u);
  auto stateSlot = [&](uint32_t state) {
    if (states[state] == ~0u) {
      TensorType type = optimizer.states[state].type;
      states[state] = declareState(builder, name + "." + program_.text(optimizer.states[state].name).str(), type,
                                   StepBuilder::restrictTo(*weight.layout, type.dims), weight.where);
    }
    return states[state];
  };
  for (const Op &op : optimizer.ops) {
    ++stats_.opVisits;
    if (op.kind == OpKind::Input) {
      bool isGradient = program_.text(optimizer.inputs[op.get<SlotFields>().slot].name) == "g";
      values[op.results[0].index] = isGradient ? gradient : old;
    } else if (op.kind == OpKind::State) {
      uint32_t state = stateSlot(op.get<SlotFields>().slot);
      values[op.results[0].index] =
          builder.add(OpKind::State, {}, SlotFields{state}, builder.body().states[state].type,
                      *builder.body().states[state].layout, program_.text(builder.body().states[state].name));
    } else if (op.kind == OpKind::Update) {
      uint32_t state = stateSlot(op.get<SlotFields>().slot);
      Layout layout = *builder.body().states[state].layout;
      builder.addEffect(OpKind::Update, builder.convert(values[op.operands[0].index], layout, name), {state});
    } else {
      inlineOp(builder, optimizer, op, *weight.layout, values, name);
    }
  }
  return builder.convert(values[optimizer.outputs[0].value.index], *weight.layout, name);
}

void StepWriter::inlineOp(StepBuilder &builder, const Body &optimizer, const Op &op, const Layout &home,
                          std::vector<ValueId> &values, const std::string &name) {
  bool isMap = op.kind == OpKind::Map || op.kind == OpKind::Constant || op.kind == OpKind::Stop;
  Op copy = op;
  for (ValueId &operand : copy.operands) {
    ValueId value = values[operand.index];
    Layout wanted = isMap ? StepBuilder::restrictTo(home, builder.typeOf(value).dims) : Layout(builder.atoms().size());
    operand = builder.convert(value, wanted, name);
  }
  for (ValueId &result : copy.results) {
    const Value &from = optimizer.value(result);
    TensorType type = *from.type;
    Layout layout = isMap ? StepBuilder::restrictTo(home, type.dims) : Layout(builder.atoms().size());
    std::string local = from.name ? name + "." + program_.text(from.name).str() : name;
    ValueId made = builder.newValue(std::move(type), std::move(layout), local);
    values[result.index] = made;
    result = made;
  }
  builder.append(std::move(copy));
}
} // namespace stg
