//===- SumChains.h - chains of additions, each as one n-ary sum -------------===//
// Additions, subtractions, negations and factors that are constants form one sum, as far as what stands between them
// has no other use (language.md 5.6).
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_SHARDING_SUMCHAINS_H
#define STG_LIB_SHARDING_SUMCHAINS_H

#include "stg/Sharding/BodyPlan.h"

namespace stg {

/// Forward, backward, sync, step: parts whose gathered copies are shared.
unsigned phaseOf(Part part);

/// Whether the op multiplies or divides one operand by 0-dim constants, and nothing else.
bool isConstantFactor(const Op &op, const Body &body);

struct SumChains {
  /// Per op: the outermost op of the sum that it belongs to, itself if it is that; invalid if it is no addition.
  std::vector<OpId> root;
  /// Per op: the summands of the sum that ends there.
  std::vector<std::vector<Summand>> summands;
};

/// `uses`: number of uses of each value, outputs and losses included. Values of `whole` are never inside a sum.
SumChains findSums(const Body &body, llvm::ArrayRef<uint32_t> uses, const std::vector<bool> &whole);

} // namespace stg

#endif
