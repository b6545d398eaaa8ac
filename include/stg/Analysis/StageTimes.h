//===- StageTimes.h - what a stage takes for one micro-batch ---------------===//
// On one rank, on a machine: the sum of the rooflines of its kernels, each as a trace writes it. That is what a
// simulator takes for a stage that only computes. Collectives are not counted.
//
// Cost    an op is visited once per body, kernels of a body once more per transfer; O(units) besides. Deterministic.
// Tests   unittests/Analysis/StageTimesTest
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_STAGETIMES_H
#define STG_ANALYSIS_STAGETIMES_H

#include "stg/Analysis/Roofline.h"
#include "stg/IR/Program.h"

namespace stg {

struct StageTimes {
  /// Nanoseconds. What is recomputed belongs to the input gradient.
  uint64_t forward = 0, inputGrad = 0, weightGrad = 0;
  /// What a rank sends to the next stage in forward, and to the one before in backward.
  double outputBytes = 0, gradBytes = 0;
  /// By how much the last of it leaves before the action is done: in F, in I, and in B, whose weight gradients stand
  /// between the others as in traces.
  uint64_t outputAhead = 0, inputGradAhead = 0, backwardAhead = 0;
};

/// Of each stage of a program with a pipeline. What is sent is known from level Scheduled on. Nothing if a time or
/// a size has no number below 2^63.
std::optional<std::vector<StageTimes>> stageTimes(const Program &program, const Machine &machine);

} // namespace stg

#endif
