//===- Interpreter.h - runs a program on small tensors ----------------------===//
// The reference meaning of a program: one straight walk over its units, each op by its row of Ops.def, on doubles. It
// shares no code with what it judges: shapes are worked out anew from the numbers and compared with the types that
// the program states.
//
// Needs    any level whose ops are those of Ops.def (Elaborated, Typed); every size has a value.
// Throws   InterpFault, with the value's path in front, where program and inputs do not fit; without one if the program
//          has more than 50 million elements.
// Cost     the product of all dims of each op: for sizes of a few elements.
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_INTERPRETER_H
#define STG_INTERP_INTERPRETER_H

#include "stg/Interp/InputValues.h"

namespace stg::interp {

struct NamedTensor {
  std::string name;
  Tensor value;
};

/// Whether the values inside units are kept. Outputs, losses and states always are.
enum class KeepValues : uint8_t { None, All };

struct InterpResult {
  std::vector<NamedTensor> outputs;   ///< of the program, in its order
  std::vector<NamedTensor> losses;    ///< one per loss of each unit, in order: scalars
  double loss = 0;                    ///< their sum
  std::vector<NamedTensor> states;    ///< after the step, those that some op wrote; in order of first writing
  std::vector<NamedTensor> gradients; ///< by weight, all uses added; in order of first use
  std::vector<NamedTensor> values;    ///< of named values, by unit path and name, in order of execution

  const Tensor *output(llvm::StringRef name) const;
  const Tensor *state(llvm::StringRef name) const;
  const Tensor *gradient(llvm::StringRef weight) const;
  /// `blocks[1].attn.q`. Null if there is no such value or values were not kept.
  const Tensor *unitValue(llvm::StringRef path) const;
};

InterpResult interpret(const Program &program, const InterpInputs &inputs, KeepValues keep = KeepValues::None);

} // namespace stg::interp

#endif
