//===- ScheduleRuns.h - a program's schedule, timed -------------------------===//
#ifndef STG_LIB_DRIVER_SCHEDULERUNS_H
#define STG_LIB_DRIVER_SCHEDULERUNS_H

#include "stg/Analysis/StageTimes.h"
#include "stg/Driver/Explain.h"
#include "stg/Driver/ScheduleSvg.h"
#include "stg/Schedule/SimulateSchedule.h"

namespace stg {

/// The unit in which a time in nanoseconds has few digits.
TimeScale scaleOfNanoseconds(double time);

/// What is known of a program's schedule, all costs aside. The program has a pipeline.
struct ScheduleFacts {
  std::string name; ///< `1f1b`; `file` of one that a file gives
  /// Stages of a rank; of one copy of the model where there are two.
  uint32_t chunks;
  Schedule schedule;
  /// Per rank the most micro-batches at a time that stages have done the forward of and not the backward, each stage
  /// counted. Empty where nothing is trained.
  std::vector<double> inFlight;
};
ScheduleFacts scheduleFacts(const Program &program);

/// `1 micro-batch`, `8 micro-batches`.
std::string microBatchText(const Placement &placement);

/// A schedule under one kind of costs.
struct ScheduleRun {
  /// `unit costs: F = I = W = 1, …`
  std::string costText;
  /// Of each stage, where a cost model gave them.
  std::vector<StageTimes> stages;
  TimeScale scale;
  ScheduleTimes times;

  /// Share of the time in which ranks are idle: of all, of one.
  double bubble() const;
  double bubble(uint32_t rank) const;
};

ScheduleRun unitCostRun(const Schedule &schedule);
/// The runs that the options ask for, one at least; the first is the one to draw. On a machine so slow that a time has
/// no number, unit costs stand in.
std::vector<ScheduleRun> scheduleRuns(const Program &program, const Schedule &schedule,
                                      const ScheduleCostOptions &options);

} // namespace stg

#endif
