//===- BodyVariants.h - bodies for units that part ways --------------------===//
#ifndef STG_IR_BODYVARIANTS_H
#define STG_IR_BODYVARIANTS_H

#include "stg/IR/Program.h"

namespace stg {

/// Splits bodies so that two units share one only if they did before and have equal keys (`keys`: one per unit). The
/// key of a body's first unit keeps the body; each other key gets a copy of it, `block'1`, `block'2`, in order of the
/// units.
void splitBodies(Program &program, llvm::ArrayRef<uint32_t> keys);

} // namespace stg

#endif
