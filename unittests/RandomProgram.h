//===- RandomProgram.h - well-formed programs by the thousand ---------------===//
#ifndef STG_UNITTESTS_IR_RANDOMPROGRAM_H
#define STG_UNITTESTS_IR_RANDOMPROGRAM_H

#include "stg/IR/Program.h"

namespace stg {

struct RandomProgramOptions {
  unsigned maxOps = 14; ///< per body
  unsigned maxBodies = 3;
  unsigned maxUnits = 6;
  /// Tensors stay below this many elements, so that the interpreter can run them.
  int64_t maxElements = 256;
};

/// A Typed program of small sizes that the verifier accepts. The same seed gives the same program on every platform.
/// Over many seeds every op kind occurs; some calls have define bodies, some do not.
Program randomProgram(uint64_t seed, const RandomProgramOptions &options = {});

/// STG_SEED of the environment if it is set, else `fallback`: a failing test prints the seed that reproduces it.
uint64_t firstSeed(uint64_t fallback);

} // namespace stg

#endif
