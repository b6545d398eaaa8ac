//===- BuildSchedule.cpp - what each rank of a pipeline does, and sends -----===//
#include "stg/Schedule/BuildSchedule.h"
#include "stg/Schedule/CheckSchedule.h"
#include "stg/Schedule/MakeSchedule.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

namespace stg {

namespace {

/// What is sent between stages: once to a rank, for the stage that needs it first.
class TransferFinder {
public:
  explicit TransferFinder(const Program &program) : program_(program), pipeline_(*program.pipeline) {}

  std::vector<Transfer> run() {
    uint32_t units = pipeline_.firstUnits.back();
    // Values go to later stages and are needed first by the earliest reader on a rank; cotangents the other way round.
    for (uint32_t u = 0; u < units; ++u)
      visit(UnitId(u), /*values=*/true);
    for (uint32_t u = units; u-- > 0;)
      visit(UnitId(u), /*values=*/false);
    llvm::sort(transfers_, [](const Transfer &a, const Transfer &b) {
      return std::tuple(a.from, a.to, a.value.unit.index, a.value.output) <
             std::tuple(b.from, b.to, b.value.unit.index, b.value.output);
    });
    return std::move(transfers_);
  }

private:
  void visit(UnitId id, bool values) {
    const Unit &unit = program_.units[id.index];
    const Body &body = program_.body(unit);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot)
      if (const auto *from = std::get_if<UnitValue>(&unit.inputs[slot]);
          from && (body.inputs[slot].role == SlotRole::Value) == values)
        need(*from, *pipeline_.stageOf(id));
  }

  void need(UnitValue value, uint32_t to) {
    uint32_t from = *pipeline_.stageOf(value.unit);
    // Both copies of a stage stand to each other as the first ones do.
    const std::vector<uint32_t> &rankOf = pipeline_.placement.copies.front();
    if (rankOf[from] == rankOf[to])
      return;
    // An output that is the same value as an earlier one has gone already.
    const Body &body = program_.body(program_.units[value.unit.index]);
    ValueId made = body.outputs[value.output].value;
    if (sent_.insert({value.unit.index, made.index, rankOf[to]}).second)
      transfers_.push_back({value, from, to});
  }

  const Program &program_;
  const Pipeline &pipeline_;
  std::vector<Transfer> transfers_;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> sent_; ///< unit, value, receiving rank
};

Schedule scheduleOf(const Program &program) {
  const PipelineRule &rule = *program.plan.pipeline;
  if (rule.given)
    return *rule.given;
  const Placement &placement = program.pipeline->placement;
  ScheduleSizes sizes{.ranks = placement.ranks,
                      .chunks = placement.stages / placement.ranks,
                      .microBatches = placement.microBatches,
                      .group = rule.group};
  auto made = makeSchedule(rule.schedule, sizes);
  if (auto *refusal = std::get_if<ScheduleRefusal>(&made))
    internalError(nameOf(rule.schedule), textOf(*refusal));
  return std::move(std::get<Schedule>(made));
}

/// Without backward, nothing but forwards is left; an overlapped pair is its forward.
void keepForwards(Schedule &schedule) {
  for (ActionList &list : schedule.ranks) {
    ActionList forwards;
    for (const Slot &slot : list)
      for (const std::optional<Action> &action : {std::optional(slot.action), slot.overlapped})
        if (action && action->kind == ActionKind::Forward)
          forwards.push_back({*action});
    list = std::move(forwards);
  }
}

} // namespace

Outcome buildSchedule(Program &program, Diagnostics &diags) {
  program.level = Level::Scheduled;
  if (!program.pipeline)
    return Outcome::Done;
  Schedule schedule = scheduleOf(program);
  if (program.plan.pipeline->given) {
    std::vector<ScheduleFault> faults = checkSchedule(schedule);
    constexpr size_t kShown = 5;
    for (const ScheduleFault &fault : llvm::ArrayRef(faults).take_front(kShown))
      diags.report(program.plan.pipeline->scheduleWhere,
                   diag::ScheduleFault{.fault = textOf(fault, schedule.placement)});
    if (!faults.empty())
      return Outcome::Failed;
  }
  if (program.mode != Mode::Train)
    keepForwards(schedule);
  program.pipeline->transfers = TransferFinder(program).run();
  program.pipeline->lists = std::move(schedule.ranks);
  return Outcome::Done;
}

} // namespace stg
