//===- ChooseAlgorithms.h - what `run … as` says of collectives ---------------===//
// Needs    Explicit.
// Gives    the same level: all-gathers that bring the operands of a named call along the factor that it streams, and
//          the reduce-scatters of its gradient's results, have the rule's algorithm (CollectiveFields::algorithm). With
//          `two_level` collectives that span nodes are two, one between nodes and one inside (lib/Sharding/TwoLevel.h).
// Keeps    everything else. Where one of a call's gathers has other readers, or stands for more than one step, all of
//          them stay collectives (N330).
// Refuses  E312 NeighboursApart, E328 CannotRunAs. Notes N329 NothingToRun, N330 GatheredWhole. Warns W303.
// Cost     O(ops x rules) per distinct body.
// Tests    test/Sharding/run-*.stg, unittests/Numerics/StreamTest
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_CHOOSEALGORITHMS_H
#define STG_SHARDING_CHOOSEALGORITHMS_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"

namespace stg {

Outcome chooseAlgorithms(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
