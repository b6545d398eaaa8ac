//===- InPlace.h - results that have no memory of their own -----------------===//
// What an optimizer makes of a weight or a state takes the place of the old one, and so does what a cache becomes by
// `append`. An all-reduce of a gradient buffer leaves its result in the buffer. Memory over time and the names of
// tensors in traces agree on that, so a tensor keeps its place from its writer to its last reader.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_INPLACE_H
#define STG_ANALYSIS_INPLACE_H

#include "stg/Analysis/Kernels.h"

namespace stg {

/// Where a value is: in memory of its own, or in what a slot of the body stands for.
struct MemoryPlace {
  enum class Kind : uint8_t { Own, Weight, State, Gradient };
  Kind kind = Kind::Own;
  /// Of weights, states; of gradient buffers: the weight slot.
  uint32_t slot = 0;
};

/// By ValueId, of what kernels and collectives make; what slots bring and views are `Own` here.
std::vector<MemoryPlace> memoryPlaces(const Body &body, const BodyKernels &kernels);

} // namespace stg

#endif
