//===- Interpreter.h - runs a program on small tensors ----------------------===//
// The reference meaning of a program: a walk over its units, each op by its row of Ops.def, on doubles. It shares no
// code with what it judges: shapes are worked out anew from the numbers and compared with the types that the program
// states; on ranks, so are the positions of a dim that each rank holds, and what ranks should hold alike is compared.
//
// A step: for each micro-batch the Forward ops of the units in order, then the backward ops of the units in reverse;
// then, once, the Sync ops of the units in reverse and the Step ops in order. Units that have neither forward nor
// backward ops (the `step` unit) synchronise last and step first: the clipping that all units read is theirs.
//
// A pipeline is ignored on one device. On ranks, it is ignored before level Scheduled: all ranks do everything, and
// those that differ on its atoms are copies. From Scheduled on, each rank of the pipeline, which is the ranks of the
// mesh with that coordinate on its axis, has only its stages and its units of the step, with weights, states, gradient
// buffers and scalars of its own:
//  - It runs its list of actions in order. F runs the Forward ops of the stage's units in order, I the InputGrad and
//    Recompute ops in reverse, W the WeightGrad ops in reverse, B all three; of an overlapped pair F comes first. A
//    slot runs when all that it reads of other ranks has arrived.
//  - A transfer arrives when the action that makes the value has run: F; B or I for a cotangent. Where a unit has one
//    value under two outputs, one transfer brings both.
//  - Behind all actions come the sums of buffers, layout by layout; then Sync of the stages' units in reverse, of each
//    rank's own units of the step, and of the common ones, which all ranks run together: their Total reads each rank's
//    own scalar, their Tally adds to each. Then Step.
//  - Within a rank, what becomes partial over the pipeline is that rank's share; in Sync of a stage that several ranks
//    have, the rank of the first copy keeps it and the others give zero.
//  - What several ranks hold must be the same on all of them in the end.
// A micro-batch finds a state as the micro-batches before it left it, and the step as all did.
//
// Needs    every size has a value; on ranks level Laid or later, and dims that the atoms on them divide.
// Throws   InterpFault, with the value's path in front, where program and inputs do not fit; without one if the program
//          has more than 50 million elements, if ranks of a pipeline wait for each other or for what nobody sends, if a
//          value is sent for nothing, and if ranks differ in what they hold alike.
// Cost     the product of all dims of each op, times ranks: for sizes of a few elements.
//===----------------------------------------------------------------------===//
#ifndef STG_INTERP_INTERPRETER_H
#define STG_INTERP_INTERPRETER_H

#include "stg/Interp/InputValues.h"

namespace stg::interp {

/// A named value that ranks hold together, whole.
struct NamedTensor {
  std::string name;
  Tensor value;
  int64_t microBatch = 0; ///< of values, losses and outputs; kOfStep: made once, after all micro-batches
};
constexpr int64_t kOfStep = -1;

/// Which values inside units are kept. Outputs, losses, states, gradients and new weights always are. All: those that
/// have a name. Every: the others too, numbered as the printer does, `blocks[1].%12`.
enum class KeepValues : uint8_t { None, All, Every };

/// OneDevice: layouts are ignored and layout ops are the identity, which is what the program means. Ranks: each rank of
/// the mesh computes with what it holds.
enum class Machine : uint8_t { OneDevice, Ranks };

struct InterpResult {
  std::vector<NamedTensor> outputs;   ///< of the program, in its order, per micro-batch
  std::vector<NamedTensor> losses;    ///< one per loss of each unit, in order, per micro-batch: scalars
  double loss = 0;                    ///< their sum, averaged over micro-batches
  std::vector<NamedTensor> states;    ///< after the step, those that some op wrote; in order of first writing
  std::vector<NamedTensor> gradients; ///< by weight, all micro-batches and all uses added; in order of first use
  std::vector<NamedTensor> weights;   ///< after the step, those that some op assigned
  std::vector<NamedTensor> values;    ///< of named values, by unit path and name, in order of execution

  const Tensor *output(llvm::StringRef name, int64_t microBatch = 0) const;
  const Tensor *state(llvm::StringRef name) const;
  const Tensor *gradient(llvm::StringRef weight) const;
  const Tensor *weight(llvm::StringRef name) const;
  /// `blocks[1].attn.q`. Null if there is no such value or values were not kept.
  const Tensor *unitValue(llvm::StringRef path, int64_t microBatch = 0) const;
};

InterpResult interpret(const Program &program, const InterpInputs &inputs, KeepValues keep = KeepValues::None,
                       Machine machine = Machine::OneDevice);

} // namespace stg::interp

#endif
