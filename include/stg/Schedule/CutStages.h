//===- CutStages.h - units to stages, stages to ranks ----------------------===//
// Needs    Explicit: `cut balanced` goes by what a rank computes.
// Gives    the same level; Program::pipeline with the stages and their ranks, if the plan has a pipeline.
//          `even`: as many units of repeats in each stage, and what stands before, behind and between them joins the
//          stage that it stands beside; where stages do not divide those units, as many units of all kinds as can be,
//          the larger stages first. `balanced`: the most expensive stage costs least, by FLOPs of forward and backward.
//          A weight of a unit that a unit on another rank uses becomes one of the program, which is on both.
// Keeps    units, and bodies but for what becomes of such weights.
// Refuses  E401, E402, E405 to E410, E417, E419 TooManyActions, E420 StateInPipeline.
// Cost     an op is visited once per body; O(units) besides.
// Tests    test/Schedule, unittests/Schedule/PartitionTest
//===----------------------------------------------------------------------===//
#ifndef STG_SCHEDULE_CUTSTAGES_H
#define STG_SCHEDULE_CUTSTAGES_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"

namespace stg {

Outcome cutStages(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
