//===- ShardStorage.cpp - gradient synchronisation and the optimizer's step -===//
// Invariant: a weight's step happens once on each rank that holds it, where it is owned: in the bodies of the units
// that own it, and for the program's weights in the unit `step`. In a pipeline each rank has a unit `step[r]` for the
// program's weights that its stages use, and `step` is left with what all ranks do together.
//===----------------------------------------------------------------------===//
#include "stg/Memory/ShardStorage.h"
#include "StepBuilder.h"
#include "stg/Support/InternalError.h"

namespace stg {

namespace {

/// A weight slot of a body that is stepped there. Several slots of one group are one weight in several layouts.
struct TrainedSlot {
  uint32_t slot;
  uint32_t group;
  const OptimizerRule *rule = nullptr;
  BodyId optimizer;
};

class StorageSharder {
public:
  StorageSharder(Program &program, PassStats &stats) : program_(program), context_(*program.context), stats_(stats) {}

  void run() {
    tallyLosses();
    std::vector<bool> done(program_.bodies.size(), false);
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      BodyId id = program_.units[u].body;
      if (done[id.index])
        continue;
      done[id.index] = true;
      addOwnedSteps(id, program_.unitPath(program_.units[u]));
    }
    if (!program_.pipeline)
      return addStepUnit();
    findHolders();
    for (uint32_t rank = 0; rank < program_.pipeline->ranks(); ++rank)
      addStepUnit(rank);
    addCommonUnit();
    sumCopies();
  }

private:
  std::optional<uint32_t> scalar(llvm::StringRef name) const {
    for (uint32_t i = 0; i < program_.scalars.size(); ++i)
      if (program_.text(program_.scalars[i]) == name)
        return i;
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // The loss
  //===--------------------------------------------------------------------===//

  /// Atoms on which some loss is partial: every tally of the loss is brought to be partial on all of them.
  AtomList lossAtoms() const {
    AtomList list;
    for (uint32_t atom = 0; atom < program_.mesh.atoms().size(); ++atom)
      for (const Body &body : program_.bodies)
        if (!llvm::is_contained(list, atom) && llvm::any_of(body.losses, [&](ValueId loss) {
              return body.value(loss).layout && body.value(loss).layout->places[atom].isPartial();
            }))
          list.push_back(atom);
    return list;
  }

  /// Ranks of the pipeline that add to the loss. If there are several, each has a part of it.
  void findLossRanks() {
    if (!program_.pipeline)
      return;
    for (uint32_t rank = 0; rank < program_.pipeline->ranks(); ++rank)
      for (uint32_t u = 0; u < program_.units.size(); ++u)
        if (!program_.body(program_.units[u]).losses.empty() && program_.pipeline->runsOn(UnitId(u), rank) &&
            !llvm::is_contained(lossRanks_, rank))
          lossRanks_.push_back(rank);
    if (lossRanks_.size() > 1)
      lossAtoms_.append(program_.pipeline->atoms.begin(), program_.pipeline->atoms.end());
    llvm::sort(lossAtoms_);
  }

  void tallyLosses() {
    std::optional<uint32_t> loss = scalar("loss");
    if (!loss)
      return;
    lossAtoms_ = lossAtoms();
    findLossRanks();
    for (Body &body : program_.bodies) {
      if (body.losses.empty())
        continue;
      StepBuilder builder(program_, body);
      for (ValueId value : body.losses) {
        builder.begin(Part::Forward, NameId(), body.op(body.value(value).def).where);
        AtomList missing;
        for (uint32_t atom : lossAtoms_)
          if (!builder.layoutOf(value).places[atom].isPartial())
            missing.push_back(atom);
        ValueId share = builder.demote(value, missing, "loss");
        builder.addEffect(OpKind::Tally, share, {*loss});
      }
      keepForwardFirst(body);
    }
  }

  /// Forward ops were appended behind backward ones: parts stand in their order again.
  static void keepForwardFirst(Body &body) {
    std::vector<Op> sorted;
    for (bool forward : {true, false})
      for (Op &op : body.ops)
        if ((op.part == Part::Forward) == forward)
          sorted.push_back(std::move(op));
    body.ops = std::move(sorted);
    for (uint32_t i = 0; i < body.ops.size(); ++i)
      for (ValueId result : body.ops[i].results)
        body.values[result.index].def = OpId(i);
  }

  //===--------------------------------------------------------------------===//
  // Units
  //===--------------------------------------------------------------------===//

  TrainedSlot trained(const Body &body, uint32_t slot, uint32_t group, llvm::StringRef path) {
    TrainedSlot result{slot, group, optimizerOf(program_.plan, path), BodyId()};
    const WeightSlot &weight = body.weights[slot];
    if (result.rule)
      for (const OptimizerBody &each : result.rule->bodies)
        if (compatible(each.weight, weight.type) && each.gradient == weight.gradient && each.master == weight.master &&
            each.moment == weight.moment)
          result.optimizer = each.body;
    if (!result.optimizer)
      internalError(path, "is trained, but no optimizer has a body for " + toString(weight.type, context_) +
                              " of its precision");
    if (!weight.layout)
      internalError(path, "has no layout");
    return result;
  }

  void addOwnedSteps(BodyId id, const std::string &unitPath) {
    std::vector<TrainedSlot> slots;
    const Body &body = program_.body(id);
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      if (body.weights[slot].owned && body.weights[slot].trained)
        slots.push_back(trained(body, slot, slot, unitPath + "." + program_.text(body.weights[slot].name).str()));
    addSteps(program_.bodies[id.index], slots);
  }

  /// The program's weights, all of them or those that a rank of the pipeline holds.
  void addStepUnit(std::optional<uint32_t> rank = std::nullopt) {
    Body body;
    Unit unit = stepUnit(rank);
    std::vector<TrainedSlot> slots, counted;
    for (uint32_t w = 0; w < program_.weights.size(); ++w) {
      size_t first = slots.size();
      if (!rank || llvm::is_contained(holders_[w], *rank))
        collectLayouts(WeightId(w), body, unit, slots);
      if (!rank || (!holders_[w].empty() && holders_[w].front() == *rank))
        counted.insert(counted.end(), slots.begin() + static_cast<std::ptrdiff_t>(first), slots.end());
    }
    body.name = unit.path;
    StepBuilder builder(program_, body);
    builder.begin(Part::Sync, NameId(), {});
    std::optional<ValueId> loss;
    if (!rank || (lossRanks_.size() == 1 && lossRanks_.front() == *rank))
      loss = sumLoss(builder);
    sync(builder, slots, counted);
    if (!rank)
      scaleNorm(builder);
    step(builder, slots);
    reportLoss(builder, loss);
    add(std::move(body), std::move(unit), rank);
  }

  /// What all ranks of a pipeline do together.
  void addCommonUnit() {
    Body body;
    Unit unit = stepUnit(std::nullopt);
    body.name = unit.path;
    StepBuilder builder(program_, body);
    builder.begin(Part::Sync, NameId(), {});
    std::optional<ValueId> loss;
    if (lossRanks_.size() > 1)
      loss = sumLoss(builder);
    scaleNorm(builder);
    reportLoss(builder, loss);
    add(std::move(body), std::move(unit), std::nullopt);
  }

  Unit stepUnit(std::optional<uint32_t> rank) const {
    Unit unit;
    unit.body = BodyId(static_cast<uint32_t>(program_.bodies.size()));
    unit.path = context_.name("step");
    unit.index = rank ? int64_t{*rank} : -1;
    return unit;
  }

  void add(Body body, Unit unit, std::optional<uint32_t> rank) {
    if (body.ops.empty())
      return;
    if (rank)
      body.name = context_.name(program_.text(body.name).str() + "'" + std::to_string(*rank));
    program_.bodies.push_back(std::move(body));
    program_.units.push_back(std::move(unit));
    if (program_.pipeline)
      program_.pipeline->stepRanks.push_back(rank);
  }

  //===--------------------------------------------------------------------===//
  // Pipelines
  //===--------------------------------------------------------------------===//

  /// Per weight of the program: the ranks of the pipeline whose stages use it, ascending.
  void findHolders() {
    const Pipeline &pipeline = *program_.pipeline;
    holders_.resize(program_.weights.size());
    for (uint32_t u = 0; u < pipeline.firstUnits.back(); ++u)
      for (const WeightBinding &binding : program_.units[u].weights)
        if (const auto *weight = std::get_if<WeightId>(&binding))
          for (const std::vector<uint32_t> &copy : pipeline.placement.copies)
            holders_[weight->index].push_back(copy[*pipeline.stageOf(UnitId(u))]);
    for (auto &holders : holders_) {
      llvm::sort(holders);
      holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    }
  }

  /// Gradients of what several ranks hold: of the units of a stage that has two copies, and of tied weights.
  void sumCopies() {
    Pipeline &pipeline = *program_.pipeline;
    for (uint32_t u = 0; u < pipeline.firstUnits.back() && pipeline.placement.copies.size() > 1; ++u) {
      const Body &body = program_.body(program_.units[u]);
      if (!llvm::any_of(body.weights, [](const WeightSlot &slot) { return slot.owned && slot.buffer; }))
        continue;
      BufferSum sum{UnitId(u), {}};
      for (const std::vector<uint32_t> &copy : pipeline.placement.copies)
        sum.ranks.push_back(copy[*pipeline.stageOf(UnitId(u))]);
      llvm::sort(sum.ranks);
      pipeline.sums.push_back(std::move(sum));
    }
    for (uint32_t w = 0; w < program_.weights.size(); ++w)
      if (holders_[w].size() > 1 && isTrained(WeightId(w)))
        pipeline.sums.push_back({WeightId(w), holders_[w]});
  }

  bool isTrained(WeightId weight) {
    return llvm::any_of(usesOf(weight), [](const WeightSlot *slot) { return slot->buffer.has_value(); });
  }

  /// A slot of the step's body for each layout and buffer in which units use the weight. A use that adds no gradient
  /// (`stop`, a result that no loss needs) only has to be stepped in its layout.
  void collectLayouts(WeightId weight, Body &step, Unit &unit, std::vector<TrainedSlot> &slots) {
    size_t first = step.weights.size();
    for (bool adds : {true, false})
      for (const WeightSlot *slot : usesOf(weight)) {
        bool isKnown = llvm::any_of(llvm::ArrayRef(step.weights).drop_front(first), [&](const WeightSlot &known) {
          return known.layout == slot->layout && (known.buffer == slot->buffer || !adds);
        });
        if (!slot->trained || slot->buffer.has_value() != adds || isKnown)
          continue;
        std::string name = program_.text(program_.weights[weight.index].name).str();
        size_t number = step.weights.size() - first;
        step.weights.emplace_back(*slot).name = context_.name(number == 0 ? name : name + "'" + std::to_string(number));
        unit.weights.push_back(weight);
      }
    for (size_t slot = first; slot < step.weights.size(); ++slot)
      slots.push_back(trained(step, static_cast<uint32_t>(slot), static_cast<uint32_t>(first),
                              program_.text(program_.weights[weight.index].name)));
  }

  /// The slots that are bound to a weight of the program, each body's once.
  std::vector<const WeightSlot *> usesOf(WeightId weight) {
    std::vector<const WeightSlot *> uses;
    std::vector<bool> walked(program_.bodies.size(), false);
    for (const Unit &user : program_.units) {
      if (walked[user.body.index])
        continue;
      size_t binding = 0;
      bool binds = false;
      for (const WeightSlot &slot : program_.body(user).weights) {
        if (slot.owned)
          continue;
        const auto *bound = std::get_if<WeightId>(&user.weights[binding++]);
        if (!bound || *bound != weight)
          continue;
        binds = true;
        uses.push_back(&slot);
      }
      walked[user.body.index] = binds;
    }
    return uses;
  }

  void addSteps(Body &body, llvm::ArrayRef<TrainedSlot> slots) {
    if (slots.empty())
      return;
    StepBuilder builder(program_, body);
    sync(builder, slots, slots);
    step(builder, slots);
  }

  //===--------------------------------------------------------------------===//
  // Sync
  //===--------------------------------------------------------------------===//

  llvm::StringRef slotName(const StepBuilder &builder, uint32_t slot) {
    return program_.text(const_cast<StepBuilder &>(builder).body().weights[slot].name);
  }

  /// Gradients of one group of slots stand complete in `gradients_` afterwards, in the layout of the group's first
  /// slot. `counted`: those whose gradients this rank adds to the norm.
  void sync(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots, llvm::ArrayRef<TrainedSlot> counted) {
    gradients_.clear();
    if (slots.empty())
      return;
    builder.begin(Part::Sync, NameId(), builder.body().weights[slots[0].slot].where);
    struct Bucket {
      AtomList atoms;
      ElementType element;
      llvm::SmallVector<ValueId, 4> values;
      llvm::SmallVector<size_t, 4> of;
    };
    std::vector<Bucket> buckets;
    for (size_t i = 0; i < slots.size(); ++i) {
      const WeightSlot &weight = builder.body().weights[slots[i].slot];
      if (!weight.buffer)
        continue;
      builder.at(weight.where);
      AtomList atoms, scattered; // what is wanted split is not gathered first
      for (uint32_t atom : weight.buffer->partialAtoms())
        (weight.layout->places[atom].isSplit() ? scattered : atoms).push_back(atom);
      Layout home = *weight.layout;
      ElementType element = weight.gradient;
      Layout buffer = *weight.buffer;
      ValueId gradient = builder.add(OpKind::Gradient, {}, SlotFields{slots[i].slot}, {element, weight.type.dims},
                                     buffer, slotName(builder, slots[i].slot).str() + ".grad");
      gradient = builder.reduceScatter(gradient, scattered, home, slotName(builder, slots[i].slot).str() + ".grad");
      auto bucket =
          llvm::find_if(buckets, [&](const Bucket &each) { return each.atoms == atoms && each.element == element; });
      if (bucket == buckets.end())
        bucket = buckets.insert(buckets.end(), {atoms, element, {}, {}});
      bucket->values.push_back(gradient);
      bucket->of.push_back(i);
    }
    std::vector<std::optional<ValueId>> complete(slots.size());
    for (const Bucket &bucket : buckets) {
      builder.at(builder.body().weights[slots[bucket.of[0]].slot].where);
      auto values = builder.allReduce(bucket.values, bucket.atoms);
      for (size_t k = 0; k < values.size(); ++k)
        complete[bucket.of[k]] = values[k];
    }
    mergeGroups(builder, slots, complete);
    tallyNorm(builder, counted);
  }

  void mergeGroups(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
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

  ValueId gradientOf(uint32_t group) const {
    for (const auto &[known, value] : gradients_)
      if (known == group)
        return value;
    internalError("gradient", "of a weight was not synchronised");
  }

  /// Each weight counts once: on coordinate 0 of the atoms that don't split its gradient (language.md 2.3).
  void tallyNorm(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> counted) {
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

  /// The loss of the step, the same on all ranks, still a sum over the micro-batches.
  std::optional<ValueId> sumLoss(StepBuilder &builder) {
    std::optional<uint32_t> loss = scalar("loss");
    if (!loss)
      return std::nullopt;
    ValueId total = readScalar(builder, *loss, lossAtoms_, "loss");
    return builder.allReduce({total}, lossAtoms_)[0];
  }

  /// Its mean: last of all, so that nothing waits behind its all-reduce.
  void reportLoss(StepBuilder &builder, std::optional<ValueId> total) {
    if (!total)
      return;
    builder.begin(Part::Step, NameId(), {});
    if (program_.plan.microBatches > 1)
      total = builder.map(MapFn::Div, {*total, builder.constant(static_cast<double>(program_.plan.microBatches))},
                          ElementType::F32, "loss");
    builder.body().outputs.push_back({context_.name("loss"), *total});
  }

  ValueId readScalar(StepBuilder &builder, uint32_t scalar, const AtomList &partial, llvm::StringRef name) {
    Layout layout(builder.atoms().size());
    for (uint32_t atom : partial)
      layout.places[atom] = Place::partial();
    return builder.add(OpKind::Total, {}, SlotFields{scalar}, {ElementType::F32, {}}, std::move(layout), name);
  }

  /// min(1, clip / norm), as torch.nn.utils.clip_grad_norm_ has it.
  void scaleNorm(StepBuilder &builder) {
    std::optional<uint32_t> norm = scalar("grad_norm"), scale = scalar("clip_scale");
    if (!norm || !scale || program_.plan.clip == 0)
      return;
    builder.begin(Part::Sync, NameId(), {});
    AtomList all;
    for (uint32_t atom = 0; atom < builder.atoms().size(); ++atom)
      all.push_back(atom);
    ValueId square = builder.allReduce({readScalar(builder, *norm, all, "norm_squared")}, all)[0];
    ValueId root = builder.map(MapFn::Sqrt, {square}, ElementType::F32, "grad_norm");
    ValueId padded = builder.map(MapFn::Add, {root, builder.constant(1e-6)}, ElementType::F32, "grad_norm");
    ValueId ratio =
        builder.map(MapFn::Div, {builder.constant(program_.plan.clip), padded}, ElementType::F32, "clip_scale");
    ValueId factor = builder.map(MapFn::Minimum, {ratio, builder.constant(1)}, ElementType::F32, "clip_scale");
    builder.addEffect(OpKind::Tally, factor, {*scale});
  }

  //===--------------------------------------------------------------------===//
  // Step
  //===--------------------------------------------------------------------===//

  void step(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots) {
    std::optional<uint32_t> scaleSlot = scalar("clip_scale");
    ValueId scale;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].slot != slots[i].group)
        continue;
      const WeightSlot weight = builder.body().weights[slots[i].slot];
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
        builder.addEffect(OpKind::Assign, builder.convert(updated, layout, name), {other.slot});
      }
    }
  }

  /// The new weight in its element type. The optimizer works on the master copy if that has another element type.
  ValueId updateWeight(StepBuilder &builder, const TrainedSlot &slot, const WeightSlot &weight, ValueId gradient,
                       const std::string &name) {
    bool hasMaster = weight.master != weight.type.element;
    TensorType type{hasMaster ? weight.master : weight.type.element, weight.type.dims};
    ValueId old;
    uint32_t master = 0;
    if (hasMaster) {
      master = declareState(builder, name + ".master", type, *weight.layout, weight.where);
      old = builder.add(OpKind::State, {}, SlotFields{master}, type, *weight.layout, name + ".master");
    } else {
      old = builder.add(OpKind::Weight, {}, SlotFields{slot.slot}, type, *weight.layout, name);
    }
    ValueId updated = inlineOptimizer(builder, slot, weight, old, gradient, name);
    if (hasMaster)
      builder.addEffect(OpKind::Update, updated, {master});
    return builder.cast(updated, weight.type.element, name);
  }

  uint32_t declareState(StepBuilder &builder, const std::string &name, TensorType type, Layout layout,
                        SourceRange where) {
    builder.body().states.push_back({context_.name(name), std::move(type), true, where, std::move(layout)});
    return static_cast<uint32_t>(builder.body().states.size() - 1);
  }

  ValueId inlineOptimizer(StepBuilder &builder, const TrainedSlot &slot, const WeightSlot &weight, ValueId old,
                          ValueId gradient, const std::string &name) {
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

  /// Element-wise work stays where the weight is; what is not element-wise needs its operands whole (Muon's matrices).
  void inlineOp(StepBuilder &builder, const Body &optimizer, const Op &op, const Layout &home,
                std::vector<ValueId> &values, const std::string &name) {
    bool isMap = op.kind == OpKind::Map || op.kind == OpKind::Constant || op.kind == OpKind::Stop;
    Op copy = op;
    for (ValueId &operand : copy.operands) {
      ValueId value = values[operand.index];
      Layout wanted =
          isMap ? StepBuilder::restrictTo(home, builder.typeOf(value).dims) : Layout(builder.atoms().size());
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

  Program &program_;
  IRContext &context_;
  PassStats &stats_;
  AtomList lossAtoms_;
  llvm::SmallVector<uint32_t, 2> lossRanks_;
  std::vector<llvm::SmallVector<uint32_t, 2>> holders_;
  /// Of the body at hand: per group of slots, its complete gradient.
  std::vector<std::pair<uint32_t, ValueId>> gradients_;
};

} // namespace

Outcome shardStorage(Program &program, Diagnostics &, PassStats &stats) {
  if (program.mode == Mode::Train)
    StorageSharder(program, stats).run();
  program.level = Level::Stored;
  return Outcome::Done;
}

} // namespace stg
