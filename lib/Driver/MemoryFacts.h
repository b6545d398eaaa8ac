//===- MemoryFacts.h - peaks of all classes of ranks ------------------------===//
#ifndef STG_LIB_DRIVER_MEMORYFACTS_H
#define STG_LIB_DRIVER_MEMORYFACTS_H

#include "stg/Analysis/Memory.h"

namespace stg {

struct MemoryFacts {
  MemoryOverTime memory;
  /// By place in the pipeline; of one place without a pipeline.
  std::vector<MemoryPeak> peaks;
  /// The class with the highest peak, the first of several.
  uint32_t worst = 0;

  const MemoryPeak &peak() const { return peaks[worst]; }
};

/// Nothing where sizes have no numbers, or are beyond any memory.
std::optional<MemoryFacts> memoryFacts(const Program &program);

/// `rank 2`, of the pipeline; `each rank` without one.
std::string classText(const Program &program, uint32_t place);

/// Units next to each other with the same path that have the same alive: `blocks[0..8]`.
struct UnitGroup {
  std::string name;
  uint32_t units = 1;
  /// Of one unit.
  UnitMemory each;
  int64_t total() const { return each.bytes.total() * units; }
};
/// Largest first.
std::vector<UnitGroup> groupsOf(const Program &program, const MemoryPeak &peak);

} // namespace stg

#endif
