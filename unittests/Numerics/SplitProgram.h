//===- SplitProgram.h - programs through the passes of a training step ------===//
#ifndef STG_UNITTESTS_NUMERICS_SPLITPROGRAM_H
#define STG_UNITTESTS_NUMERICS_SPLITPROGRAM_H

#include "stg/Interp/CompareRanks.h"
#include <optional>
#include <string>

namespace stg {

/// A program before anything is split, and after all passes.
struct SplitProgram {
  std::optional<Program> whole, split;
  std::string messages; ///< of the compiler; a program that it refuses is not there
};

/// Compiles the first workload of `text`, a file without its first line `stg
/// 1`, with the shipped library.
SplitProgram splitProgram(const std::string &text);

/// Runs both and compares; a difference fails the test. Nothing if the compiler
/// refused the program.
std::optional<interp::RankComparison> expectSame(const std::string &text, uint64_t seed);

/// `--count=N` on the command line of the test, or else `fallback`: how many
/// random programs to try.
uint64_t randomCount(uint64_t fallback);

} // namespace stg

#endif
