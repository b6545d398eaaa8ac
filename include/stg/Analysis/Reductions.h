//===- Reductions.h - gradients on their way to their shards -----------------===//
// With `zero 2` and up, a backward reduces gradients to shards while the next unit computes. Of two such reductions one
// is awaited: the compute node behind the second begins when the first has ended (traces.md). Until then what it reads
// is in memory.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_REDUCTIONS_H
#define STG_ANALYSIS_REDUCTIONS_H

#include "stg/Analysis/Kernels.h"

namespace stg {

/// A collective that brings gradients to their shards beside the backward.
bool reducesToShards(const Op &op);

/// A kernel that adds what such collectives bring: the order of compute nodes does not wait for it.
bool addsShards(const Body &body, const BodyKernels &kernels, const Kernel &kernel);

} // namespace stg

#endif
