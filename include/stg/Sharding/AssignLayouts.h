//===- AssignLayouts.h - where everything lives -----------------------------===//
// Needs    Differentiated.
// Gives    Laid: every op has a compute layout, every value, slot and gradient buffer a layout; what disagrees is
// joined
//          by `convert`, one for each move.
// Keeps    results of the program, global shapes. May cut atoms of the mesh (`or replicate`), give bodies input slots
//          and Input ops (a program input in several layouts), make variants of bodies that are reached in several
//          layouts, and add the summands of a sum in another order.
// Refuses  E302, E304, E308, E309, E310, E311, E312; warns W303, notes N325.
// Cost     O(ops x rules x atoms) per distinct body; units only compare layouts at their borders.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_ASSIGNLAYOUTS_H
#define STG_SHARDING_ASSIGNLAYOUTS_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"

namespace stg {

/// On failure only the cuts of the mesh may have changed.
Outcome assignLayouts(Program &program, Diagnostics &diags, PassStats &stats);

} // namespace stg

#endif
