//===- InPlace.h - results that have no memory of their own -----------------===//
// What an optimizer makes of a weight or a state takes the place of the old one, and so does what a cache becomes by
// `append`. Of a state that rests on the host, the new one takes the place of what was loaded. An all-reduce of a
// gradient buffer leaves its result in the buffer. Memory over time and the names of
// tensors in traces agree on that, so a tensor keeps its place from its writer to its last reader.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_INPLACE_H
#define STG_ANALYSIS_INPLACE_H

#include "stg/Analysis/Kernels.h"

namespace stg {

/// Where a value is: in memory of its own, in what a slot of the body stands for, or where another value was.
struct MemoryPlace {
  enum class Kind : uint8_t { Own, Weight, State, Gradient, Value };
  Kind kind = Kind::Own;
  /// Of weights, states; of gradient buffers: the weight slot.
  uint32_t slot = 0;
  ValueId value = {};
};

/// By ValueId, of what kernels and collectives make; what slots bring and views are `Own` here.
std::vector<MemoryPlace> memoryPlaces(const Body &body, const BodyKernels &kernels);

} // namespace stg

#endif
