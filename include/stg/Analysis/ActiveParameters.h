//===- ActiveParameters.h - the weights that one token passes through ---------===//
// Experts are found in the ops, not by names: a call with a `carry` factor sends tokens to the k of E experts that an
// i32 operand names, or brings them back. What lies between works on tokens that were sent, with weights of E experts.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_ACTIVEPARAMETERS_H
#define STG_ANALYSIS_ACTIVEPARAMETERS_H

#include "stg/IR/Program.h"
#include <vector>

namespace stg {

/// Per weight slot of `body`, the share of its elements that one token passes through: k / E for the weights of
/// experts, else 1.
std::vector<DimExpr> activeShares(const Body &body, IRContext &context);

} // namespace stg

#endif
