//===- ExpertCounts.h - tokens to experts, in whole numbers -------------------===//
// Integers only, so that every machine counts the same.
// Tests   unittests/Analysis/ExpertCountsTest
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_EXPERTCOUNTS_H
#define STG_ANALYSIS_EXPERTCOUNTS_H

#include "stg/IR/Routing.h"
#include "llvm/ADT/ArrayRef.h"

namespace stg {

/// Relative loads by expert: that of place i is 2^40 / (i + 1)^exponent, 1 at least; which expert has place i is a
/// shuffle by `seed`.
std::vector<uint64_t> zipfLoads(size_t experts, double exponent, uint64_t seed);

/// Relative loads of so many experts. A trace must have as many.
std::vector<uint64_t> loadsOf(const Routing &routing, size_t experts);

/// `total` in proportion to `loads`, by largest remainder, ties to the lowest index: sums to `total` exactly. Not all
/// loads are 0.
std::vector<int64_t> apportion(int64_t total, llvm::ArrayRef<uint64_t> loads);

} // namespace stg

#endif
