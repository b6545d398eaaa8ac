//===- ShardStorage.cpp - gradient synchronisation and the optimizer's step -===//
// Invariant: a weight's step happens once on each rank that holds it, where it is owned: in the bodies of the units
// that own it, and for the program's weights in the unit `step`. In a pipeline each rank has a unit `step[r]` for the
// program's weights that its stages use, and `step` is left with what all ranks do together.
//===----------------------------------------------------------------------===//
#include "stg/Memory/ShardStorage.h"
#include "StepWriter.h"
#include "StoreWeights.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace stg {

namespace {

class StorageSharder {
public:
  StorageSharder(Program &program, PassStats &stats)
      : program_(program), context_(*program.context), writer_(program, stats) {}

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
    std::optional<uint32_t> loss = writer_.scalar("loss");
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
    auto isAhead = [](const Op &op) { return op.part == Part::Gather || op.part == Part::Forward; };
    std::vector<Op> sorted;
    for (bool ahead : {true, false})
      for (Op &op : body.ops)
        if (isAhead(op) == ahead)
          sorted.push_back(std::move(op));
    setOps(body, std::move(sorted));
  }

  //===--------------------------------------------------------------------===//
  // Units
  //===--------------------------------------------------------------------===//

  TrainedSlot trained(const Body &body, uint32_t slot, uint32_t group, llvm::StringRef path) {
    TrainedSlot result{slot, group, optimizerOf(program_.plan, path), BodyId(), {}};
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
    result.forms = storedForms(program_, weight.type, *weight.layout, path);
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
    writer_.sync(builder, slots, counted);
    if (!rank)
      scaleNorm(builder);
    writer_.step(builder, slots);
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
    writer_.sync(builder, slots, slots);
    writer_.step(builder, slots);
  }

  //===--------------------------------------------------------------------===//
  // Scalars of the step
  //===--------------------------------------------------------------------===//

  /// The loss of the step, the same on all ranks, still a sum over the micro-batches.
  std::optional<ValueId> sumLoss(StepBuilder &builder) {
    std::optional<uint32_t> loss = writer_.scalar("loss");
    if (!loss)
      return std::nullopt;
    ValueId total = writer_.readScalar(builder, *loss, lossAtoms_, "loss");
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

  /// min(1, clip / norm), as torch.nn.utils.clip_grad_norm_ has it.
  void scaleNorm(StepBuilder &builder) {
    std::optional<uint32_t> norm = writer_.scalar("grad_norm"), scale = writer_.scalar("clip_scale");
    if (!norm || !scale || program_.plan.clip == 0)
      return;
    builder.begin(Part::Sync, NameId(), {});
    AtomList all;
    for (uint32_t atom = 0; atom < builder.atoms().size(); ++atom)
      all.push_back(atom);
    ValueId square = builder.allReduce({writer_.readScalar(builder, *norm, all, "norm_squared")}, all)[0];
    ValueId root = builder.map(MapFn::Sqrt, {square}, ElementType::F32, "grad_norm");
    ValueId padded = builder.map(MapFn::Add, {root, builder.constant(1e-6)}, ElementType::F32, "grad_norm");
    ValueId ratio =
        builder.map(MapFn::Div, {builder.constant(program_.plan.clip), padded}, ElementType::F32, "clip_scale");
    ValueId factor = builder.map(MapFn::Minimum, {ratio, builder.constant(1)}, ElementType::F32, "clip_scale");
    builder.addEffect(OpKind::Tally, factor, {*scale});
  }

  Program &program_;
  IRContext &context_;
  StepWriter writer_;
  AtomList lossAtoms_;
  llvm::SmallVector<uint32_t, 2> lossRanks_;
  std::vector<llvm::SmallVector<uint32_t, 2>> holders_;
};

} // namespace

/// Whether some weight of the program is split over each rule's axes, beyond what the plan's other rules split.
static bool checkStorage(const Program &program, Diagnostics &diags) {
  std::vector<bool> named(program.plan.storage.size(), false), used(named), seen(program.bodies.size(), false);
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    const Body &body = program.body(program.units[u]);
    bool isNew = !seen[program.units[u].body.index];
    seen[program.units[u].body.index] = true;
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot) {
      if (!isNew && body.weights[slot].owned)
        continue; // rules say the same of what units of one body own
      for (uint32_t i : storageRulesOf(program.plan, weightPath(program, UnitId(u), slot))) {
        named[i] = true;
        for (const std::string &axis : program.plan.storage[i].axes)
          for (uint32_t atom : program.mesh.atomsOf(axis))
            used[i] = used[i] || body.weights[slot].layout->places[atom].isWhole();
      }
    }
  }
  for (uint32_t i = 0; i < named.size(); ++i) {
    const StorageRule &rule = program.plan.storage[i];
    bool isIdle = llvm::all_of(rule.axes, [&](const std::string &axis) { return program.mesh.atomsOf(axis).empty(); });
    if (used[i] || isIdle || !named[i])
      continue;
    diags
        .report(rule.where, diag::StorageSplitsNothing{.axes = llvm::join(rule.axes, ", "),
                                                       .reason = "the plan splits every one over them already"})
        .help("name the axes over which weights are copied, such as those that split B");
    return false;
  }
  return true;
}

Outcome shardStorage(Program &program, Diagnostics &diags, PassStats &stats) {
  if (!checkStorage(program, diags))
    return Outcome::Failed;
  storeWeights(program, stats);
  if (program.mode == Mode::Train)
    StorageSharder(program, stats).run();
  program.level = Level::Stored;
  return Outcome::Done;
}

} // namespace stg
