//===- VerifyLayouts.h - layouts that fit what ops do -----------------------===//
// From Laid on: operands and results lie as the op's compute layout and the kinds of its factors say (language.md 5.5);
// every conversion leads where it says; partial values meet only ops that are linear in them; what crosses from unit to
// unit is complete and lies alike on both sides.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_VERIFYLAYOUTS_H
#define STG_SHARDING_VERIFYLAYOUTS_H

#include "stg/IR/Verifier.h"

namespace stg {

/// For programs from Laid on that `verify` and `verifyTypes` found whole.
std::vector<Violation> verifyLayouts(const Program &program);

} // namespace stg

#endif
