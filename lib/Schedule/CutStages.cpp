//===- CutStages.cpp - units to stages, stages to ranks --------------------===//
#include "stg/Schedule/CutStages.h"
#include "stg/Analysis/Cost.h"
#include "stg/IR/BatchRanks.h"
#include "stg/IR/BodyVariants.h"
#include "stg/Schedule/MakeSchedule.h"
#include "stg/Schedule/Partition.h"
#include "stg/Support/ClosestName.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace stg {

namespace {

/// Actions of all ranks: some 10^8 bytes of lists.
constexpr uint64_t kMaxActions = 20'000'000;

class StageCutter {
public:
  StageCutter(Program &program, const PipelineRule &rule, Diagnostics &diags, PassStats &stats)
      : program_(program), rule_(rule), diags_(diags), stats_(stats) {}

  Outcome run() {
    Pipeline pipeline;
    pipeline.atoms = program_.mesh.atomsOf(rule_.axis);
    ranks_ = static_cast<uint32_t>(groupSize(pipeline.atoms, program_.mesh.atoms()));
    std::optional<Placement> placement = place();
    if (!placement)
      return Outcome::Failed;
    pipeline.placement = std::move(*placement);
    std::optional<Partition> partition = divide(pipeline.placement.stages);
    if (!partition)
      return Outcome::Failed;
    pipeline.firstUnits.push_back(0);
    for (uint32_t units : *partition)
      pipeline.firstUnits.push_back(pipeline.firstUnits.back() + units);
    if (!checkStates(pipeline))
      return Outcome::Failed;
    shareWeights(pipeline);
    program_.pipeline = std::move(pipeline);
    return Outcome::Done;
  }

private:
  //===--------------------------------------------------------------------===//
  // Stages to ranks
  //===--------------------------------------------------------------------===//

  std::optional<Placement> place() {
    int64_t microBatches = program_.plan.microBatches;
    if (rule_.given)
      return placeGiven(microBatches);
    ScheduleSizes sizes{.ranks = ranks_,
                        .chunks = rule_.chunks.value_or(fixedChunks(rule_.schedule).value_or(1)),
                        .microBatches = static_cast<uint32_t>(std::min<int64_t>(microBatches, UINT32_MAX)),
                        .group = rule_.group};
    // Forward, input gradient and weight gradient of every micro-batch in every stage.
    uint64_t stages = uint64_t{sizes.ranks} * sizes.chunks;
    if (stages > kMaxActions || stages * 3 > kMaxActions / std::max<uint64_t>(sizes.microBatches, 1)) {
      diags_.report(rule_.where, diag::TooManyActions{.actions = stages * 3 * sizes.microBatches})
          .note(fmt::format("{} stages x {} micro-batches x 3; the limit is {}", stages, microBatches, kMaxActions));
      return std::nullopt;
    }
    if (std::optional<ScheduleRefusal> refusal = refuse(rule_.schedule, sizes)) {
      report(*refusal);
      return std::nullopt;
    }
    return placementOf(rule_.schedule, sizes);
  }

  std::optional<Placement> placeGiven(int64_t microBatches) {
    const Placement &given = rule_.given->placement;
    auto differs = [&](uint64_t have, llvm::StringRef what, uint64_t want) {
      diags_.report(rule_.scheduleWhere, diag::ScheduleFileSize{.have = have, .what = what, .want = want});
      return std::nullopt;
    };
    if (given.ranks != ranks_)
      return differs(given.ranks, "ranks", ranks_);
    if (given.microBatches != microBatches)
      return differs(given.microBatches, "micro-batches", static_cast<uint64_t>(microBatches));
    return given;
  }

  void report(const ScheduleRefusal &refusal) {
    std::string rule = ruleOf(refusal);
    llvm::StringRef verb = refusal.size == ScheduleSize::Group ? "are groups of" : refusal.have == 1 ? "is" : "are";
    bool isMultiple = refusal.rule == SizeRule::MultipleOf && refusal.size == ScheduleSize::MicroBatches;
    if (isMultiple && refusal.bound == ranks_)
      rule = fmt::format("micro-batches in multiples of {} = {}", rule_.axis, ranks_);
    auto builder = diags_.report(
        rule_.scheduleWhere,
        diag::ScheduleNeeds{.schedule = nameOf(refusal.schedule), .rule = rule, .verb = verb, .count = refusal.have});
    auto nearest = [&](auto show) {
      std::string text;
      for (std::optional<uint32_t> each : {refusal.below, refusal.above})
        if (each)
          text += (text.empty() ? "" : ", ") + show(*each);
      return text;
    };
    std::string near;
    switch (refusal.size) {
    case ScheduleSize::Ranks:
      near = nearest([&](uint32_t size) { return fmt::format("{} = {}", rule_.axis, size); });
      break;
    case ScheduleSize::Chunks:
      near = nearest([&](uint32_t size) { return fmt::format("chunks = {}", size); });
      break;
    case ScheduleSize::Group:
      near = nearest([&](uint32_t size) { return fmt::format("group = {}", size); });
      break;
    case ScheduleSize::MicroBatches:
      explainMicroBatches(builder, refusal.have);
      if (std::optional<Int128> batch = sizeOfBatch(); batch && refusal.have > 1)
        near = nearest([&](uint32_t size) { return fmt::format("B = {} gives {}", toString(*batch * size), size); });
      break;
    }
    if (!near.empty())
      builder.note(near);
  }

  /// `B = 960 / (microbatch 1 x dp = 32) = 30`
  void explainMicroBatches(DiagnosticBuilder &builder, uint32_t count) const {
    std::optional<Int128> batch = sizeOfBatch();
    if (!batch)
      return;
    if (count == 1) {
      builder.help("`microbatch` in the plan cuts a step of B = " + toString(*batch) + " into micro-batches");
      return;
    }
    BatchRanks ranks = batchRanks(program_.mesh, program_.plan.splits, program_.context->name("B"));
    std::string each = fmt::format("microbatch {}", toString(*batch / ranks.count));
    if (ranks.count > 1)
      each = fmt::format("({} x {})", each, ranks.axes);
    builder.detail(fmt::format("B = {} / {} = {}", toString(*batch * count), each, count));
  }

  /// B of one micro-batch, of all ranks.
  std::optional<Int128> sizeOfBatch() const {
    for (const SizeParameter &size : program_.sizes)
      if (program_.text(size.name) == "B")
        return size.symbol.integer();
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Units to stages
  //===--------------------------------------------------------------------===//

  std::optional<Partition> divide(uint32_t stages) {
    auto units = static_cast<uint32_t>(program_.units.size());
    if (rule_.cut == StageCut::Listed)
      return divideAsListed(stages);
    if (units < stages) {
      diags_.report(rule_.where, diag::TooFewUnits{.units = units, .stages = stages})
          .note("units are the iterations of `repeat`, `unit` blocks and what stands between them: " + modelText());
      return std::nullopt;
    }
    if (rule_.cut == StageCut::Balanced)
      return partitionBalanced(costs(), stages);
    if (std::optional<Partition> partition = divideRepeats(stages))
      return partition;
    return partitionEven(units, stages);
  }

  /// As many units of repeats in each stage; nothing if stages don't divide them.
  std::optional<Partition> divideRepeats(uint32_t stages) const {
    auto isRepeated = [](const Unit &unit) { return unit.index >= 0; };
    auto repeated = static_cast<uint32_t>(llvm::count_if(program_.units, isRepeated));
    if (repeated == 0 || repeated % stages != 0)
      return std::nullopt;
    Partition partition(stages, 0);
    uint32_t taken = 0;
    for (const Unit &unit : program_.units) {
      // What stands behind the last unit of a stage stays there.
      uint32_t stage =
          isRepeated(unit) ? taken++ / (repeated / stages) : (std::max(taken, 1u) - 1) / (repeated / stages);
      ++partition[stage];
    }
    return partition;
  }

  /// FLOPs of a rank for a micro-batch, forward and backward.
  std::vector<uint64_t> costs() {
    RankShare share(program_);
    std::vector<std::optional<uint64_t>> ofBody(program_.bodies.size());
    std::vector<uint64_t> costs;
    for (const Unit &unit : program_.units) {
      std::optional<uint64_t> &cost = ofBody[unit.body.index];
      if (!cost) {
        const Body &body = program_.body(unit);
        DimExpr sum = program_.context->dims.constant(int64_t{0});
        for (const Op &op : body.ops) {
          ++stats_.opVisits;
          OpCost each = share.costOf(op, body);
          sum = sum + each.contraction + each.other;
        }
        std::optional<Rational> value = sum.rational();
        if (!value)
          internalError(program_.unitPath(unit), "has no cost");
        cost = static_cast<uint64_t>(value->numerator / value->denominator);
      }
      costs.push_back(*cost);
    }
    return costs;
  }

  /// The units of the model as a cut names them.
  std::vector<UnitRun> runs() const {
    std::vector<UnitRun> runs;
    for (const Unit &unit : program_.units) {
      std::string name = withoutNumbers(program_.text(unit.path));
      if (!runs.empty() && runs.back().name == name)
        ++runs.back().count;
      else
        runs.push_back({std::move(name), 1});
    }
    return runs;
  }

  /// `groups.layers` of `groups[2].layers`: a repeat in a repeat.
  static std::string withoutNumbers(llvm::StringRef path) {
    std::string name;
    for (llvm::StringRef rest = path; !rest.empty();) {
      auto [before, from] = rest.split('[');
      name += before;
      rest = from.split(']').second;
    }
    return name;
  }

  static std::string textOf(const UnitRun &run) {
    return run.count == 1 ? run.name : fmt::format("{}*{}", run.name, run.count);
  }
  std::string modelText() const {
    constexpr size_t kShown = 12;
    std::vector<UnitRun> all = runs();
    std::string text = listOf(llvm::ArrayRef(all).take_front(kShown));
    return all.size() > kShown ? text + ", …" : text;
  }
  static std::string listOf(llvm::ArrayRef<UnitRun> runs) {
    return llvm::join(llvm::map_range(runs, [](const UnitRun &run) { return textOf(run); }), ", ");
  }

  std::optional<Partition> divideAsListed(uint32_t stages) {
    std::vector<UnitRun> model = runs();
    auto divided = partitionAsListed(model, rule_.stages);
    if (auto *refusal = std::get_if<CutRefusal>(&divided)) {
      report(*refusal, stages);
      return std::nullopt;
    }
    Partition &partition = std::get<Partition>(divided);
    if (partition.size() == stages)
      return std::move(partition);
    diags_.report(rule_.cutWhere, diag::CutStageCount{.have = partition.size(), .want = stages})
        .note(stages == ranks_ ? fmt::format("one for each of {} = {} ranks", rule_.axis, ranks_)
                               : fmt::format("{} for each of {} = {} ranks", stages / ranks_, rule_.axis, ranks_));
    return std::nullopt;
  }

  /// How many units of a name the cut has: `3 + 14 * 4 = 59`.
  std::string sumOf(llvm::StringRef name) const {
    std::string terms;
    uint64_t sum = 0;
    for (size_t first = 0, next; first < rule_.stages.size(); first = next) {
      next = first + 1;
      while (next < rule_.stages.size() && rule_.stages[next] == rule_.stages[first])
        ++next;
      uint64_t count = 0;
      for (const UnitRun &run : rule_.stages[first])
        count += run.name == name ? run.count : 0;
      if (count == 0)
        continue;
      sum += count * (next - first);
      terms += terms.empty() ? "" : " + ";
      terms += next - first == 1 ? std::to_string(count) : fmt::format("{} * {}", next - first, count);
    }
    if (sum == 0)
      return "";
    if (terms == std::to_string(sum))
      return fmt::format("{} of them {} one", sum, sum == 1 ? "has" : "have");
    return fmt::format("{} = {}", terms, sum);
  }

  SourceRange placeOf(const CutRefusal &refusal) const {
    if (refusal.stage < rule_.stages.size())
      for (const UnitRun &run : rule_.stages[refusal.stage])
        if (run.name == refusal.name && run.where.valid())
          return run.where;
    return rule_.cutWhere;
  }

  /// The stage that could take the units without one: `[sparse*2, mtp, last]`.
  std::string withLeft(const CutRefusal &refusal, uint32_t stages) const {
    UnitRun left{refusal.name, refusal.count};
    bool isBehind = refusal.stage >= rule_.stages.size();
    if (isBehind && rule_.stages.size() < stages)
      return "a stage more: [" + textOf(left) + "]";
    std::vector<UnitRun> stage = isBehind ? rule_.stages.back() : rule_.stages[refusal.stage];
    size_t at = isBehind ? stage.size() : refusal.item;
    if (at > 0 && stage[at - 1].name == left.name)
      stage[at - 1].count += left.count;
    else
      stage.insert(stage.begin() + static_cast<ptrdiff_t>(at), left);
    return "[" + listOf(stage) + "]";
  }

  void report(const CutRefusal &refusal, uint32_t stages) {
    int64_t count = refusal.count, total = refusal.total;
    switch (refusal.fault) {
    case CutFault::Left: {
      auto builder =
          diags_.report(rule_.cutWhere, diag::CutLeavesUnits{.left = count, .total = total, .unit = refusal.name});
      std::string taken = sumOf(refusal.name);
      if (!taken.empty())
        builder.note(taken);
      // In a model of nested repeats, the units between them may be the first to be missed.
      if (taken.empty() && refusal.count < refusal.total)
        builder.note("stages take units in the order of the model: " + modelText());
      else
        builder.help(withLeft(refusal, stages));
      return;
    }
    case CutFault::UnknownUnit: {
      auto builder = diags_.report(placeOf(refusal), diag::CutUnknownUnit{.unit = refusal.name});
      std::vector<UnitRun> model = runs();
      std::vector<llvm::StringRef> names;
      for (const UnitRun &run : model)
        names.push_back(run.name);
      builder.note("it has " + modelText());
      if (auto close = closestName(refusal.name, names))
        builder.help("did you mean `" + close->str() + "`?");
      return;
    }
    case CutFault::OutOfOrder:
      diags_.report(placeOf(refusal), diag::CutOutOfOrder{.unit = refusal.name})
          .note("stages take units in the order of the model: " + modelText());
      return;
    case CutFault::TooMany:
      diags_.report(placeOf(refusal), diag::CutTooMany{.count = count, .unit = refusal.name, .total = total});
      return;
    case CutFault::EmptyStage:
      diags_.report(rule_.cutWhere, diag::CutEmptyStage{.stage = refusal.stage})
          .help("leave it out, or give it a unit");
      return;
    }
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  std::vector<uint32_t> ranksOf(UnitId unit, const Pipeline &pipeline) const {
    std::vector<uint32_t> ranks;
    for (const std::vector<uint32_t> &copy : pipeline.placement.copies)
      ranks.push_back(copy[*pipeline.stageOf(unit)]);
    return ranks;
  }

  /// A unit's own weight is where the unit is. What a unit on another rank uses becomes a weight of the program, which
  /// lives on all ranks that use it.
  void shareWeights(const Pipeline &pipeline) {
    std::map<uint32_t, std::set<uint32_t>> shared; // by unit: its slots
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      for (const WeightBinding &binding : program_.units[u].weights)
        if (const auto *own = std::get_if<UnitSlot>(&binding);
            own && ranksOf(own->unit, pipeline) != ranksOf(UnitId(u), pipeline))
          shared[own->unit.index].insert(own->slot);
    if (shared.empty())
      return;
    std::map<std::pair<uint32_t, uint32_t>, WeightId> weights;
    std::map<std::set<uint32_t>, uint32_t> kinds{{{}, 0}};
    std::vector<uint32_t> keys(program_.units.size(), 0);
    for (const auto &[owner, slots] : shared) {
      keys[owner] = kinds.try_emplace(slots, kinds.size()).first->second;
      for (uint32_t slot : slots) {
        const WeightSlot &own = program_.body(program_.units[owner]).weights[slot];
        weights[{owner, slot}] = WeightId(static_cast<uint32_t>(program_.weights.size()));
        std::string name = program_.unitPath(program_.units[owner]) + "." + program_.text(own.name).str();
        program_.weights.push_back({program_.context->name(name), own.type, own.where});
      }
    }
    splitBodies(program_, keys);
    for (const auto &[owner, slots] : shared)
      bindShared(program_.units[owner], slots, [&, owner = owner](uint32_t slot) { return weights.at({owner, slot}); });
    for (Unit &unit : program_.units)
      for (WeightBinding &binding : unit.weights)
        if (const auto *own = std::get_if<UnitSlot>(&binding))
          if (auto found = weights.find({own->unit.index, own->slot}); found != weights.end())
            binding = found->second;
  }

  /// The owner names these weights from now on, as others do.
  void bindShared(Unit &owner, const std::set<uint32_t> &slots, llvm::function_ref<WeightId(uint32_t)> weightOf) {
    Body &body = program_.bodies[owner.body.index];
    llvm::SmallVector<WeightBinding, 2> bindings;
    size_t next = 0;
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot) {
      if (slots.count(slot)) {
        body.weights[slot].owned = false;
        bindings.push_back(weightOf(slot));
      } else if (!body.weights[slot].owned) {
        bindings.push_back(owner.weights[next++]);
      }
    }
    owner.weights = std::move(bindings);
  }

  /// What micro-batches hand on to each other is on one rank, in the order of one stage's actions.
  bool checkStates(const Pipeline &pipeline) {
    std::map<std::pair<uint32_t, uint32_t>, KeptState> states; // owner and slot, or the program's (no unit)
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      const Unit &unit = program_.units[u];
      const Body &body = program_.body(unit);
      llvm::SmallVector<bool, 4> writes(body.states.size());
      for (const Op &op : body.ops)
        if (op.kind == OpKind::Update)
          writes[op.get<SlotFields>().slot] = true;
        else if (op.kind == OpKind::Append)
          if (const Op &from = body.op(body.value(op.operands[0]).def); from.kind == OpKind::State)
            writes[from.get<SlotFields>().slot] = true;
      size_t binding = 0;
      for (uint32_t slot = 0; slot < body.states.size(); ++slot) {
        std::pair key{u, slot};
        if (!body.states[slot].owned) {
          const StateBinding &bound = unit.states[binding++];
          const auto *own = std::get_if<UnitSlot>(&bound);
          key = own ? std::pair{own->unit.index, own->slot} : std::pair{~0u, std::get<StateId>(bound).index};
        }
        KeptState &state = states.try_emplace(key, KeptState{&body.states[slot], u, u, false}).first->second;
        state.last = u;
        state.isWritten |= writes[slot];
      }
    }
    for (const auto &[key, state] : states)
      if (state.isWritten && !isKept(state, pipeline))
        return false;
    return true;
  }

  /// A state with the first and the last unit that use it.
  struct KeptState {
    const StateSlot *slot;
    uint32_t first, last;
    bool isWritten;
  };

  bool isKept(const KeptState &state, const Pipeline &pipeline) {
    llvm::StringRef name = program_.text(state.slot->name);
    if (pipeline.placement.copies.size() > 1) {
      diags_
          .report(state.slot->where,
                  diag::StateInPipeline{.state = name, .reason = "the schedule keeps two copies of each stage"})
          .help("another schedule, e.g. dualpipev");
      return false;
    }
    uint32_t from = *pipeline.stageOf(UnitId(state.first)), to = *pipeline.stageOf(UnitId(state.last));
    if (from == to)
      return true;
    diags_
        .report(state.slot->where,
                diag::StateInPipeline{.state = name,
                                      .reason = fmt::format("it is used in stage {} ({}) and in stage {} ({})", from,
                                                            program_.unitPath(program_.units[state.first]), to,
                                                            program_.unitPath(program_.units[state.last]))})
        .help("a `cut` that leaves these units in one stage");
    return false;
  }

  Program &program_;
  const PipelineRule &rule_;
  Diagnostics &diags_;
  PassStats &stats_;
  uint32_t ranks_ = 1;
};

} // namespace

Outcome cutStages(Program &program, Diagnostics &diags, PassStats &stats) {
  if (!program.plan.pipeline)
    return Outcome::Done;
  return StageCutter(program, *program.plan.pipeline, diags, stats).run();
}

} // namespace stg
