//===- InputValues.h - numbers for inputs, weights and states --------------===//
// Made-up numbers depend on the seed, the name and the global index only, so that a rank that holds a part of a tensor
// makes up the part of the same tensor.
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_INPUTVALUES_H
#define STG_INTERP_INPUTVALUES_H

#include "stg/IR/Program.h"
#include "stg/Interp/Tensor.h"
#include <map>

namespace stg::interp {

struct InterpInputs {
  uint64_t seed = 0;
  /// By name: program inputs and program weights and states by their own name (`ids`, `wte`), owned ones by unit path
  /// and slot (`blocks[1].attn.wq`). What is not here is made up; states are zero, but for master copies
  /// of weights (`<weight>.master`).
  std::map<std::string, Tensor> given;
  /// Program inputs of one micro-batch, where they are not as in `given`.
  std::vector<std::map<std::string, Tensor>> givenTo;
  /// By weight, on one device: the step goes by these instead of what the micro-batches added up.
  std::map<std::string, Tensor> gradients = {};
};
/// The seed of a micro-batch's inputs and dropouts: that of the run for the first one.
uint64_t seedOf(uint64_t seed, int64_t microBatch);

/// Uniform in [-1, 1) for floats; whole numbers of [0, bound) for integers, bound > 0; 0 or 1 for bool.
double madeUp(ElementType element, uint64_t seed, llvm::StringRef name, uint64_t globalIndex, int64_t bound);
Tensor madeUpTensor(ElementType element, llvm::ArrayRef<TensorDim> dims, uint64_t seed, llvm::StringRef name,
                    int64_t bound);

/// For integer inputs that name positions of a dim (as `ids` those of V): the size of the smallest dim that a use
/// indexes with them, followed through views, slices, calls and units. Without such a use the smallest size of the
/// input's own dims and the program's parameters. At least 1.
int64_t indexBound(const Program &program, InputId input);

} // namespace stg::interp

#endif
