//===- BuildSchedule.h - what each rank of a pipeline does, and sends -------===//
// Needs    Stored.
// Gives    Scheduled. With a pipeline: per rank its list of actions, and the transfers between stages. A value goes
//          straight from the stage that hands it out to each rank that reads it, once, in its home layout: stages in
//          between neither wait for it nor pay for it. Values that units hand on from one to the next go through all.
//          A program that is not trained has the forward actions of its schedule.
// Keeps    bodies, units, stages.
// Refuses  E416 ScheduleFault, of a schedule that a file gives.
// Cost     O(units + actions); no op is visited.
// Tests    test/Schedule
//===----------------------------------------------------------------------===//
#ifndef STG_SCHEDULE_BUILDSCHEDULE_H
#define STG_SCHEDULE_BUILDSCHEDULE_H

#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"

namespace stg {

Outcome buildSchedule(Program &program, Diagnostics &diags);

} // namespace stg

#endif
