//===- TwoLevel.h - collectives between nodes, then inside --------------------===//
#ifndef STG_LIB_SHARDING_TWOLEVEL_H
#define STG_LIB_SHARDING_TWOLEVEL_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

/// `run experts as two_level(node = 8)`: an all-to-all, all-gather or reduce-scatter that begins or ends in what is
/// named and spans ranks of several nodes and several of each becomes two. What grows or goes in crosses the nodes
/// first, what shrinks or comes back does so last: as DeepSeek-V3 (arXiv 2412.19437, 3.2.2) sends tokens, once to each
/// node by the rank of the same place. Warns W303 where nothing does.
void splitLevels(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
