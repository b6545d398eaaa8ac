//===- PassStats.h - what a pass did, in numbers ----------------------------===//
#ifndef STG_IR_PASSSTATS_H
#define STG_IR_PASSSTATS_H

#include <cstdint>

namespace stg {

/// The cost law (architecture.md 1) made testable: a pass adds one for each op that it looks at. The count must not
/// depend on the number of layers, micro-batches or ranks.
struct PassStats {
  uint64_t opVisits = 0;
};

} // namespace stg

#endif
