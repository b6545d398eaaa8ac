//===- CheckSchedule.h - is a schedule one? --------------------------------===//
// Judges a schedule of any origin by dependencies and counts alone; it shares no code with what makes or times one.
//
// A schedule is right if every stage does F and either B or both I and W of each micro-batch, once and on the rank that
// holds the stage; F stands before B or I, and I before W; the two ends of each edge between stages agree on the order
// of micro-batches; and all ranks, each in its order, get to their ends.
//
// Cost    O(actions). Deterministic.
// Tests   unittests/Schedule/CheckScheduleTest, AllSchedulesTest
//===----------------------------------------------------------------------===//
#ifndef STG_SCHEDULE_CHECKSCHEDULE_H
#define STG_SCHEDULE_CHECKSCHEDULE_H

#include "stg/IR/Schedule.h"
#include <string>

namespace stg {

enum class ScheduleFaultKind : uint8_t {
  OutOfRange,     ///< a stage or micro-batch that does not exist
  WrongRank,      ///< another rank holds the stage
  Repeated,       ///< done before
  Missing,        ///< never done
  TooEarly,       ///< before `other`, which it needs, on the same rank
  BadPair,        ///< an overlapped pair that is not a forward and a backward of two micro-batches
  OrderDisagrees, ///< the stage before (in backward: after) makes `other` at this turn
  Deadlock,       ///< waits for `other` for ever
};

struct ScheduleFault {
  ScheduleFaultKind kind;
  uint32_t rank = 0;
  /// Place in the rank's list; where the action is missing, the end of the list.
  size_t position = 0;
  Action action;
  std::optional<Action> other = std::nullopt;
};

/// `rank 2, slot 5: 2B1 stands before 2F1`.
std::string textOf(const ScheduleFault &fault, const Placement &placement);

/// Faults in the order of ranks. Orders are compared only if counts are right, and ranks run only if orders agree:
/// a fault is not reported once more for what follows from it.
std::vector<ScheduleFault> checkSchedule(const Schedule &schedule);

} // namespace stg

#endif
