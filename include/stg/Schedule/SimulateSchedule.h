//===- SimulateSchedule.h - how long a schedule takes, and what it holds ---===//
// Ranks run their lists in order. A slot starts when its rank is free and its inputs have arrived; a message leaves
// when its action ends, or as much earlier as costs say, takes its time, and never waits for another message. Stages of
// one rank send nothing to each other.
//
// Cost    O(actions). Deterministic.
// Tests   unittests/Schedule/SimulateScheduleTest, BubbleFormulasTest
//===----------------------------------------------------------------------===//
#ifndef STG_SCHEDULE_SIMULATESCHEDULE_H
#define STG_SCHEDULE_SIMULATESCHEDULE_H

#include "stg/IR/Schedule.h"

namespace stg {

/// Times of one micro-batch in one stage; a full backward takes both gradients' times.
struct StageCosts {
  double forward = 1;
  double inputGrad = 1;
  double weightGrad = 1;
  /// Of a message with the stage's output to the next stage, and with its input's gradient to the one before.
  double sendOutput = 0, sendGrad = 0;
  /// How long before the end of F, I and B the message leaves; in an overlapped pair as much earlier as the pair is
  /// longer.
  double outputAhead = 0, inputGradAhead = 0, backwardAhead = 0;
  double backward() const { return inputGrad + weightGrad; }
};

struct ScheduleCosts {
  std::vector<StageCosts> stages; ///< one per stage
  /// Time of an overlapped pair over that of its halves one after the other.
  double overlapped = 1;
};

/// Every stage alike, and every message `send`.
ScheduleCosts uniformCosts(uint32_t stages, StageCosts costs, double send = 0);

struct SlotTime {
  double start = 0;
  double end = 0;
};

struct RankTimes {
  std::vector<SlotTime> slots;
  double busy = 0;
  /// From the start of the first slot to the end of the last.
  double span() const { return slots.empty() ? 0 : slots.back().end - slots.front().start; }
};

struct ScheduleTimes {
  std::vector<RankTimes> ranks;
  double makespan = 0;
  /// Time in which a rank is idle.
  double bubble(uint32_t rank) const { return makespan - ranks[rank].busy; }
  /// The longest span of a rank: what a step costs if ranks need not wait for each other between steps (2401.10241).
  double longestSpan() const;
};

/// Times of a schedule that checkSchedule accepts; nothing if ranks wait for each other for ever.
std::optional<ScheduleTimes> simulateSchedule(const Schedule &schedule, const ScheduleCosts &costs);

/// What a micro-batch in a stage keeps, as shares of all activations that its forward saves: all of them until its B or
/// I, then `weightGrad` until its W.
struct HeldShares {
  double forward = 1;
  double weightGrad = 0;
};

/// Per rank the most that it holds at a time, in activations of a stage for a micro-batch. With the default shares that
/// is the peak number of micro-batches in flight, each chunk counted. Both halves of an overlapped pair hold theirs at
/// once.
std::vector<double> peakHeld(const Schedule &schedule, HeldShares shares = {});

} // namespace stg

#endif
