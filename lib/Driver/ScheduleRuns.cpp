//===- ScheduleRuns.cpp -----------------------------------------------------===//
#include "ScheduleRuns.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

/// Unit costs have no unit: whole numbers as such.
static TimeScale scaleOfCosts(const ScheduleTimes &times) {
  auto isWhole = [](double time) { return std::abs(time - std::round(time)) < 1e-6; };
  bool allWhole =
      isWhole(times.makespan) && llvm::all_of(times.ranks, [&](const RankTimes &r) { return isWhole(r.busy); });
  return {.decimals = allWhole ? 0 : 3};
}

TimeScale stg::scaleOfNanoseconds(double time) {
  if (time < 1e4)
    return {.unit = 1, .name = "ns", .decimals = 0};
  if (time < 1e6)
    return {.unit = 1e3, .name = "us", .decimals = 3};
  if (time < 1e9)
    return {.unit = 1e6, .name = "ms", .decimals = 3};
  return {.unit = 1e9, .name = "s", .decimals = 3};
}

ScheduleFacts stg::scheduleFacts(const Program &program) {
  const Pipeline &pipeline = *program.pipeline;
  const PipelineRule &rule = *program.plan.pipeline;
  ScheduleFacts facts{.name = rule.given ? "file" : nameOf(rule.schedule).str(),
                      .chunks = (pipeline.stages() + pipeline.ranks() - 1) / pipeline.ranks(),
                      .schedule = {pipeline.placement, pipeline.lists}};
  if (program.mode == Mode::Train)
    facts.inFlight = peakHeld(facts.schedule);
  return facts;
}

std::string stg::microBatchText(const Placement &placement) {
  return fmt::format("{} micro-batch{}", placement.microBatches, placement.microBatches == 1 ? "" : "es");
}

double ScheduleRun::bubble(uint32_t rank) const { return times.makespan > 0 ? times.bubble(rank) / times.makespan : 0; }

double ScheduleRun::bubble() const {
  double sum = 0;
  for (uint32_t rank = 0; rank < times.ranks.size(); ++rank)
    sum += bubble(rank);
  return sum / static_cast<double>(times.ranks.size());
}

static ScheduleTimes timesOf(const Schedule &schedule, const ScheduleCosts &costs) {
  std::optional<ScheduleTimes> times = simulateSchedule(schedule, costs);
  if (!times)
    internalError("schedule", "ranks wait for each other for ever");
  return std::move(*times);
}

static ScheduleRun givenCostRun(const Schedule &schedule, const StageCosts &costs, std::string text) {
  ScheduleTimes times = timesOf(schedule, {.stages = std::vector(schedule.placement.stages, costs)});
  return {.costText = std::move(text), .stages = {}, .scale = scaleOfCosts(times), .times = std::move(times)};
}

ScheduleRun stg::unitCostRun(const Schedule &schedule) {
  return givenCostRun(schedule, {}, "unit costs: F = I = W = 1, B = 2, messages take no time");
}

/// Nothing where a time has no number.
static std::optional<ScheduleRun> machineRun(const Program &program, const Schedule &schedule,
                                             const ScheduleCostOptions &options) {
  Machine machine = options.machine.value_or(kDefaultMachine);
  std::optional<std::vector<StageTimes>> stages = stageTimes(program, machine);
  if (!stages)
    return std::nullopt;
  // Bytes over 10^9 bytes/s are nanoseconds.
  auto send = [&](double bytes) { return options.linkGbps > 0 ? bytes / options.linkGbps : 0; };
  ScheduleCosts costs;
  for (const StageTimes &stage : *stages)
    costs.stages.push_back({.forward = static_cast<double>(stage.forward),
                            .inputGrad = static_cast<double>(stage.inputGrad),
                            .weightGrad = static_cast<double>(stage.weightGrad),
                            .sendOutput = send(stage.outputBytes),
                            .sendGrad = send(stage.gradBytes),
                            .outputAhead = static_cast<double>(stage.outputAhead),
                            .inputGradAhead = static_cast<double>(stage.inputGradAhead),
                            .backwardAhead = static_cast<double>(stage.backwardAhead)});
  ScheduleTimes times = timesOf(schedule, costs);
  std::string messages = options.linkGbps > 0 ? fmt::format("messages at {:.6g} GB/s", options.linkGbps)
                                              : std::string("messages take no time");
  return ScheduleRun{.costText =
                         fmt::format("cost model: kernels at {:.6g} TFLOP/s and {:.6g} GB/s, no collectives, {}",
                                     machine.peakTflops, machine.memoryGbps, messages),
                     .stages = std::move(*stages),
                     .scale = scaleOfNanoseconds(times.makespan),
                     .times = std::move(times)};
}

std::vector<ScheduleRun> stg::scheduleRuns(const Program &program, const Schedule &schedule,
                                           const ScheduleCostOptions &options) {
  std::vector<ScheduleRun> runs;
  if (const std::optional<StageCosts> &costs = options.given) {
    runs.push_back(givenCostRun(schedule, *costs,
                                fmt::format("costs: F = {:.6g}, I = {:.6g}, W = {:.6g}, B = {:.6g}, messages {:.6g}",
                                            costs->forward, costs->inputGrad, costs->weightGrad, costs->backward(),
                                            costs->sendOutput)));
    return runs;
  }
  std::optional<ScheduleRun> onMachine = machineRun(program, schedule, options);
  if (!options.machine || !onMachine)
    runs.push_back(unitCostRun(schedule));
  if (onMachine)
    runs.push_back(std::move(*onMachine));
  return runs;
}

/// Sums over the longest schedules stay exact enough.
static constexpr double kMostCost = 1e12;

std::variant<StageCosts, std::string> stg::readStageCosts(StringRef text) {
  StageCosts costs;
  llvm::SmallVector<StringRef, 4> items;
  llvm::SmallVector<StringRef, 4> seen;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    key = key.trim();
    auto fault = [&](StringRef what) { return fmt::format("`{}` {}", item.trim().str(), what.str()); };
    double number = 0;
    if (key != "F" && key != "I" && key != "W" && key != "comm")
      return fault("is none of F=…, I=…, W=… and comm=…");
    if (value.trim().getAsDouble(number) || !(number >= 0 && number <= kMostCost))
      return fault("needs a number from 0 to 10^12");
    if (llvm::is_contained(seen, key))
      return fault("is there twice");
    seen.push_back(key);
    if (key == "comm")
      costs.sendOutput = costs.sendGrad = number;
    else
      (key == "F" ? costs.forward : key == "I" ? costs.inputGrad : costs.weightGrad) = number;
  }
  return costs;
}

std::string stg::scheduleSvg(const std::vector<CompiledWorkload> &workloads, const ScheduleCostOptions &options) {
  std::vector<ScheduleChart> charts;
  for (const CompiledWorkload &workload : workloads) {
    const Program &program = workload.program;
    if (!program.pipeline)
      continue;
    ScheduleFacts facts = scheduleFacts(program);
    ScheduleRun run = std::move(scheduleRuns(program, facts.schedule, options).front());
    charts.push_back({.title = fmt::format("{}: {} of {}, {} ranks, {}: makespan {}, bubble {:.1f} %", workload.name,
                                           facts.name, program.text(program.name).str(), program.pipeline->ranks(),
                                           microBatchText(program.pipeline->placement),
                                           run.scale.text(run.times.makespan), 100 * run.bubble()),
                      .subtitle = std::move(run.costText),
                      .schedule = std::move(facts.schedule),
                      .times = std::move(run.times),
                      .scale = run.scale});
  }
  return svgOf(charts);
}
