//===- InsertCollectives.h - conversions as collectives ---------------------===//
// Needs    Laid.
// Gives    Explicit: no `convert` remains; each became the steps of planConversion (Conversion.h) with the part, scope,
//          place and cause of the conversion.
// Cost     O(ops) per distinct body.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_INSERTCOLLECTIVES_H
#define STG_SHARDING_INSERTCOLLECTIVES_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Outcome.h"

namespace stg {

Outcome insertCollectives(Program &program, PassStats &stats);

} // namespace stg

#endif
