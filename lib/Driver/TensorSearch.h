//===- TensorSearch.h - tensors by their paths ------------------------------===//
// A path is that of a unit and, inside it, of a value: `blocks[7].attn.q`; weights, inputs and states of the whole
// program have none of a unit: `wte`. What a conversion makes is not a tensor of its own but another form of one.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_DRIVER_TENSORSEARCH_H
#define STG_LIB_DRIVER_TENSORSEARCH_H

#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Syntax/AST.h"

namespace stg {

/// A value of a unit's body.
struct UnitTensor {
  UnitId unit;
  ValueId value;
};

struct FoundTensor {
  std::string path;
  /// How many units of one body have it: all are explained by the first.
  int64_t alike = 1;
  /// The value itself; of weights, inputs and states the reading op's results in all units that share the tensor.
  std::vector<UnitTensor> sites;
};

/// All tensors that the pattern names, in program order; those whose whole path it is come alone, if there are any.
std::vector<FoundTensor> findTensors(const Program &program, const PathPattern &pattern);

/// E307, with the names at the point where the path stops to match. `selector` is what `pattern` was made from.
void reportNoTensor(llvm::ArrayRef<const Program *> programs, const PathPattern &pattern, const ast::Selector &selector,
                    llvm::StringRef text, Diagnostics &diags);

} // namespace stg

#endif
