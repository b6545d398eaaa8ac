//===- Interpreter.cpp ----------------------------------------------------===//
// StepRun drives the slices (SliceRun.h) through their lists of actions, carries values from one to the next, and then
// has them sum, synchronise and step. A program that is not cut into stages, or is not scheduled yet, is one slice with
// the list F0 B0 F1 B1 ...
//===----------------------------------------------------------------------===//
#include "stg/Interp/Interpreter.h"
#include "LocalOp.h"
#include "RunSize.h"
#include "SliceRun.h"
#include "stg/IR/ScheduleText.h"
#include <memory>

namespace stg::interp {

namespace {

/// One stage of all units that micro-batches run; those behind are of the step.
Pipeline uncut(const Program &program) {
  Pipeline pipeline;
  checkCount(program.plan.microBatches, kMostElements, "micro-batches");
  auto microBatches = static_cast<uint32_t>(program.plan.microBatches);
  pipeline.placement = loopPlacement(1, 1, microBatches);
  auto units = static_cast<uint32_t>(program.units.size());
  auto isOfStep = [&](const Unit &unit) {
    return llvm::all_of(program.body(unit).ops,
                        [](const Op &op) { return op.part == Part::Sync || op.part == Part::Step; });
  };
  uint32_t end = units;
  while (end > 0 && isOfStep(program.units[end - 1]))
    --end;
  pipeline.firstUnits = {0, end};
  pipeline.stepRanks.assign(units - end, 0);
  ActionList &list = pipeline.lists.emplace_back();
  for (uint32_t microBatch = 0; microBatch < microBatches; ++microBatch)
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
      list.push_back({{kind, 0, microBatch}});
  return pipeline;
}

class StepRun {
public:
  /// `dims`: of all ranks; null on one device.
  StepRun(const Program &program, const InterpInputs &inputs, KeepValues keep, RankDims *dims)
      : program_(program), inputs_(inputs), keep_(keep), all_{program, elements_, dims} {
    bool isCut = dims && program.level >= Level::Scheduled && program.pipeline;
    pipeline_ = isCut ? *program.pipeline : uncut(program);
    for (uint32_t rank = 0; rank < pipeline_.ranks(); ++rank) {
      RankDims *own = dims;
      if (isCut)
        own = dims_.emplace_back(std::make_unique<RankDims>(*dims, program, rank)).get();
      slices_.push_back(std::make_unique<SliceRun>(pipeline_, rank, RunContext{program, elements_, own}, inputs));
    }
  }

  InterpResult run() {
    checkRunSize(program_);
    runActions();
    sumBuffers();
    if (!all_.dims)
      slices_.front()->store().replaceGradients();
    runStep();
    for (auto &slice : slices_) {
      merge(slice->store().writtenStates(), result_.states, "state");
      merge(slice->store().gradients(), result_.gradients, "gradient of");
      merge(slice->store().assignedWeights(), result_.weights, "new weight");
    }
    checkCopies();
    return std::move(result_);
  }

private:
  using Made = SliceRun::Made;

  //===--------------------------------------------------------------------===//
  // Actions
  //===--------------------------------------------------------------------===//

  /// Round and round the ranks of the pipeline, a slot of each that can go on.
  void runActions() {
    if (pipeline_.lists.size() != slices_.size())
      throw InterpFault("not every rank of the pipeline has a list of actions");
    for (const ActionList &list : pipeline_.lists)
      for (const Slot &slot : list)
        for (const Action &action : actionsOf(slot))
          ++actionsLeft_[action.microBatch];
    std::vector<size_t> next(slices_.size(), 0);
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (uint32_t rank = 0; rank < slices_.size(); ++rank) {
        if (next[rank] == pipeline_.lists[rank].size() || lacks(rank, pipeline_.lists[rank][next[rank]]))
          continue;
        for (const Action &action : actionsOf(pipeline_.lists[rank][next[rank]]))
          run(rank, action);
        ++next[rank];
        goesOn = true;
      }
    }
    checkAllDone(next);
  }

  static llvm::SmallVector<Action, 2> actionsOf(const Slot &slot) {
    llvm::SmallVector<Action, 2> actions{slot.action};
    if (slot.overlapped)
      actions.push_back(*slot.overlapped);
    llvm::stable_sort(actions, [](const Action &a, const Action &b) {
      return a.kind == ActionKind::Forward && b.kind != ActionKind::Forward;
    });
    return actions;
  }

  std::optional<UnitValue> lacks(uint32_t rank, const Slot &slot) const {
    for (const Action &action : actionsOf(slot))
      if (std::optional<UnitValue> value = slices_[rank]->lacks(action))
        return value;
    return std::nullopt;
  }

  void run(uint32_t rank, const Action &action) {
    int64_t microBatch = action.microBatch;
    slices_[rank]->run(action, [&](const UnitRun &unit, ValueId value, const RankTensors &parts) {
      record(unit, value, parts, microBatch);
    });
    for (const Transfer &transfer : pipeline_.transfers)
      if (transfer.from == action.stage &&
          (transfer.isForward() ? action.kind == ActionKind::Forward : makesInputGrad(action)))
        slices_[pipeline_.placement.rankOf(transfer.to, action.microBatch)]->arrive(
            transfer, microBatch, slices_[rank]->output(transfer.value, microBatch));
    if (--actionsLeft_[action.microBatch] == 0)
      finish(microBatch);
  }

  void finish(int64_t microBatch) {
    for (const ProgramOutput &output : program_.outputs)
      result_.outputs.push_back({program_.text(output.name).str(), wholeOutput(output.value, microBatch), microBatch});
    for (auto &slice : slices_)
      slice->finish(microBatch);
  }

  Tensor wholeOutput(UnitValue from, int64_t microBatch) const {
    std::optional<uint32_t> stage = pipeline_.stageOf(from.unit);
    uint32_t rank = stage ? pipeline_.placement.rankOf(*stage, static_cast<uint32_t>(microBatch)) : 0;
    const Body &body = program_.body(program_.units[from.unit.index]);
    const Value &value = body.value(body.outputs[from.output].value);
    const RankTensors &parts = slices_[rank]->output(from, microBatch);
    return value.type ? slices_[rank]->context().whole(*value.type, value.layout, parts) : parts.front();
  }

  void checkAllDone(const std::vector<size_t> &next) const {
    std::string waits;
    for (uint32_t rank = 0; rank < slices_.size(); ++rank) {
      if (next[rank] == pipeline_.lists[rank].size())
        continue;
      const Slot &slot = pipeline_.lists[rank][next[rank]];
      UnitValue value = *lacks(rank, slot);
      const Unit &unit = program_.units[value.unit.index];
      waits += (waits.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + " waits before " +
               textOf(slot, pipeline_.placement) + " for " + program_.unitPath(unit) + ":" +
               program_.text(program_.body(unit).outputs[value.output].name).str();
    }
    if (!waits.empty())
      throw InterpFault("no rank of the pipeline can go on: " + waits);
  }

  //===--------------------------------------------------------------------===//
  // The step
  //===--------------------------------------------------------------------===//

  void sumBuffers() {
    for (const BufferSum &sum : pipeline_.sums) {
      std::vector<StepStore *> holders;
      for (uint32_t rank : sum.ranks)
        holders.push_back(&slices_[rank]->store());
      if (const auto *weight = std::get_if<WeightId>(&sum.of)) {
        StepStore::sumBuffers(holders, program_.text(program_.weights[weight->index].name).str());
        continue;
      }
      auto unit = std::get<UnitId>(sum.of);
      const Body &body = program_.body(program_.units[unit.index]);
      for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
        if (body.weights[slot].owned)
          StepStore::sumBuffers(holders, holders.front()->weightAt(unit, slot).first);
    }
  }

  void runStep() {
    auto made = [&](const UnitRun &unit, ValueId value, const RankTensors &parts) {
      record(unit, value, parts, kOfStep);
    };
    for (auto &slice : slices_)
      slice->runSync(made);
    runCommon(Part::Sync, made);
    runCommon(Part::Step, made);
    for (auto &slice : slices_)
      slice->runStep(made);
  }

  /// What a unit finds that all ranks of the pipeline run together: the scalars, of which each has its own.
  class CommonOutside : public UnitOutside {
  public:
    explicit CommonOutside(StepRun &step) : step_(step) {}

    RankTensors input(uint32_t) override { refuse(); }
    RankTensors weight(uint32_t) override { refuse(); }
    RankTensors state(uint32_t) override { refuse(); }
    RankTensors gradient(uint32_t) override { refuse(); }
    void writeState(uint32_t, RankTensors) override { refuse(); }
    void accumulate(uint32_t, const Value &, const RankTensors &) override { refuse(); }
    void assign(uint32_t, const Value &, RankTensors) override { refuse(); }
    bool keepsShare() const override { return true; }

    RankTensors total(uint32_t scalar, const Value &result) override {
      RankTensors all(step_.all_.ranks());
      step_.forEachSlice([&](SliceRun &slice, llvm::ArrayRef<size_t> ranks) {
        RankTensors own = slice.store().total(scalar, result);
        for (size_t i = 0; i < ranks.size(); ++i)
          all[ranks[i]] = own[i];
      });
      return all;
    }
    void tally(uint32_t scalar, const Value &operand, const RankTensors &value) override {
      step_.forEachSlice([&](SliceRun &slice, llvm::ArrayRef<size_t> ranks) {
        RankTensors own;
        for (size_t rank : ranks)
          own.push_back(value[rank]);
        slice.store().tally(scalar, operand, own);
      });
    }

  private:
    [[noreturn]] static void refuse() {
      throw InterpFault("all ranks of the pipeline run this together, but what it names is on some of them");
    }
    StepRun &step_;
  };

  /// With the numbers in the mesh of the slice's ranks.
  void forEachSlice(llvm::function_ref<void(SliceRun &, llvm::ArrayRef<size_t>)> visit) {
    for (auto &slice : slices_) {
      std::vector<size_t> ranks;
      for (size_t rank = 0; rank < slice->context().ranks(); ++rank)
        ranks.push_back(static_cast<size_t>(slice->context().dims->meshRank(static_cast<int64_t>(rank))));
      visit(*slice, ranks);
    }
  }

  void runCommon(Part part, Made made) {
    CommonOutside outside(*this);
    uint32_t stages = pipeline_.firstUnits.back();
    for (uint32_t u = stages; u < program_.units.size(); ++u) {
      if (pipeline_.stepRanks[u - stages])
        continue;
      const Unit &unit = program_.units[u];
      UnitRun &run =
          common_.try_emplace(u, all_, program_.body(unit), program_.unitPath(unit), inputs_.seed).first->second;
      run.run(
          outside, [&](const Op &op) { return op.part == part; },
          [&](ValueId value, const RankTensors &parts) { made(run, value, parts); });
    }
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  void record(const UnitRun &unit, ValueId id, const RankTensors &parts, int64_t microBatch) {
    const Body &body = unit.body();
    auto losses = llvm::count(body.losses, id);
    NameId name = body.value(id).name;
    bool isKept = keep_ == KeepValues::Every || (keep_ == KeepValues::All && name);
    if (!losses && !isKept && !all_.dims)
      return;
    // Putting the value together also compares what ranks should hold alike.
    Tensor whole = unit.whole(id, parts);
    for (; losses > 0; --losses)
      keepLoss(unit.nameOf(id), whole, microBatch);
    if (isKept)
      result_.values.push_back(
          {name ? unit.nameOf(id) : unit.nameOf(id) + ".%" + numberOf(body, id), std::move(whole), microBatch});
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

  void keepLoss(const std::string &name, const Tensor &value, int64_t microBatch) {
    if (!value.dims.empty())
      throw InterpFault("a loss has dims " + describe(value.dims, *program_.context));
    result_.losses.push_back({name, value, microBatch});
    result_.loss += value.data.front() / static_cast<double>(program_.plan.microBatches);
  }

  /// What several ranks of the pipeline hold is the same on all of them.
  static void merge(std::vector<NamedTensor> own, std::vector<NamedTensor> &all, const std::string &what) {
    for (NamedTensor &tensor : own) {
      auto known = llvm::find_if(all, [&](const NamedTensor &other) { return other.name == tensor.name; });
      if (known == all.end())
        all.push_back(std::move(tensor));
      else
        checkSame(known->value, tensor.value, what + " " + tensor.name);
    }
  }

  static void checkSame(const Tensor &a, const Tensor &b, const std::string &what) {
    if (!(largestDifference(a, b) <= 1e-9))
      throw InterpFault(what + " is not the same on the pipeline ranks that hold it");
  }

  /// A tied weight is stepped by each rank that holds it, with states of its own.
  void checkCopies() const {
    for (const NamedTensor &weight : result_.weights)
      for (const auto &slice : slices_)
        if (slice->store().lacksNew(weight.name))
          throw InterpFault("new weight " + weight.name + " is not on all pipeline ranks that hold the old one");
    std::map<NameId, const Tensor *> first;
    for (uint32_t u = pipeline_.firstUnits.back(); u < program_.units.size(); ++u) {
      std::string path = program_.unitPath(program_.units[u]);
      for (const StateSlot &slot : program_.body(program_.units[u]).states)
        if (const Tensor *state = result_.state(path + "." + program_.text(slot.name).str()))
          checkSame(*first.try_emplace(slot.name, state).first->second, *state,
                    "state " + program_.text(slot.name).str() + " of the step");
    }
  }

  const Program &program_;
  const InterpInputs &inputs_;
  KeepValues keep_;
  int64_t elements_ = 0;
  RunContext all_; ///< of all ranks
  Pipeline pipeline_;
  std::vector<std::unique_ptr<RankDims>> dims_; ///< by rank of the pipeline, if there is one
  std::vector<std::unique_ptr<SliceRun>> slices_;
  std::map<uint32_t, size_t> actionsLeft_; ///< by micro-batch
  std::map<uint32_t, UnitRun> common_;     ///< by unit
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
