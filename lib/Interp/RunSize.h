//===- RunSize.h - is a program small enough to run? ------------------------===//
#ifndef STG_LIB_INTERP_RUNSIZE_H
#define STG_LIB_INTERP_RUNSIZE_H

#include "stg/IR/Program.h"

namespace stg::interp {

/// Elements that one run may hold: all values are kept until its end, 8 bytes each.
constexpr int64_t kMostElements = 50'000'000;
/// Products that one contraction may add up: some tens of seconds.
constexpr int64_t kMostProducts = 4'000'000'000;

/// a * b and a + b of numbers that are not negative; the largest int64_t where they pass it.
int64_t saturatingProduct(int64_t a, int64_t b);
int64_t saturatingSum(int64_t a, int64_t b);

/// Throws InterpFault if `count` is more than `most`. `what` is counted: "elements".
void checkCount(int64_t count, int64_t most, const std::string &what);

/// Throws InterpFault if the values of all units have more than kMostElements elements. Values that have no type yet,
/// or a size without a value, are not counted. Cost: one walk over bodies and units.
void checkRunSize(const Program &program);

} // namespace stg::interp

#endif
