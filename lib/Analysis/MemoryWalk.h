//===- MemoryWalk.h - one rank's step, in sums of bytes ---------------------===//
#ifndef STG_LIB_ANALYSIS_MEMORYWALK_H
#define STG_LIB_ANALYSIS_MEMORYWALK_H

#include "MemoryFlow.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg {

/// A moment of the walk: which of its events, and what runs in it.
struct WalkMoment {
  int64_t bytes = -1;
  uint64_t event = 0;
  std::optional<Action> action;
  UnitId unit;
  /// Among the body's steps; kNever: messages arrive.
  uint32_t step = MemoryTensor::kNever;
};

struct WalkResult {
  WalkMoment peak;
  /// At the event asked for; without what is kept.
  std::vector<UnitMemory> units;
  /// On the host, without what rests there.
  int64_t mostOnHost = 0;
  /// Whether all sums stayed below 2^60.
  bool fits = true;
};

/// Walks the list of a class of ranks. `event`: when to take down what is alive; 0: never. `consume` takes the points
/// of the curve, without what is kept.
WalkResult walkRank(const Program &program, const MemoryFlow &flow, uint32_t rank, uint64_t event,
                    llvm::function_ref<void(const MemoryPoint &)> consume);

} // namespace stg

#endif
