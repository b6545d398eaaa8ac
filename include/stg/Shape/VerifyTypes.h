//===- VerifyTypes.h - every type is the one that its rule gives ------------===//
#ifndef STG_SHAPE_VERIFYTYPES_H
#define STG_SHAPE_VERIFYTYPES_H

#include "stg/IR/Verifier.h"

namespace stg {

/// For programs from Typed on that `verify` found whole. Sizes may be written differently if their values agree.
std::vector<Violation> verifyTypes(const Program &program);

} // namespace stg

#endif
