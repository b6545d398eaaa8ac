//===- StepStore.h - what lives across the units of a step ------------------===//
// Weights, states and program inputs are made up or looked up at first use, whole, and cut for each rank. Written
// states and assigned weights show in the next micro-batch or step. A weight that units read in two layouts has a
// gradient buffer for each.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_STEPSTORE_H
#define STG_LIB_INTERP_STEPSTORE_H

#include "UnitRun.h"
#include "stg/Interp/Interpreter.h"

namespace stg::interp {

class StepStore {
public:
  StepStore(RunContext &context, const InterpInputs &inputs) : context_(context), inputs_(inputs) {}

  RankTensors input(InputId id, const InputSlot &slot, int64_t microBatch);
  RankTensors weight(UnitId unit, uint32_t slot);
  RankTensors state(UnitId unit, uint32_t slot);
  void writeState(UnitId unit, uint32_t slot, RankTensors value);
  /// What was written is what states hold from now on.
  void commitStates();

  void accumulate(UnitId unit, uint32_t slot, const Value &operand, const RankTensors &value);
  RankTensors gradient(UnitId unit, uint32_t slot) const;
  /// By those of the inputs; the first of several buffers holds what the others leave.
  void replaceGradients();
  void assign(UnitId unit, uint32_t slot, const Value &operand, RankTensors value);
  void tally(uint32_t scalar, const Value &operand, const RankTensors &value);
  RankTensors total(uint32_t scalar, const Value &result) const;

  std::vector<NamedTensor> writtenStates() const;
  std::vector<NamedTensor> gradients() const;
  std::vector<NamedTensor> assignedWeights() const;

private:
  /// A tensor in one layout under a name.
  struct Stored {
    std::string name;
    TensorType type;
    std::optional<Layout> layout;
    RankTensors parts;
  };
  static Stored *find(std::vector<Stored> &list, llvm::StringRef name, const std::optional<Layout> &layout);
  std::vector<NamedTensor> wholes(const std::vector<Stored> &list) const;

  /// Name and type of what a slot names, through bindings.
  std::pair<std::string, TensorType> weightAt(UnitId unit, uint32_t slot) const;
  std::pair<std::string, TensorType> stateAt(UnitId unit, uint32_t slot) const;
  const Tensor &wholeWeight(UnitId unit, uint32_t slot);
  /// What a master copy holds before the first step: its weight. Nothing for other states.
  std::optional<Tensor> masteredWeight(UnitId unit, uint32_t slot);
  /// The tensor given under `name`, stored as `type` says; else what `make` makes. Kept under `key`.
  const Tensor &external(const std::string &key, const std::string &name, const TensorType &type, const Tensor *given,
                         llvm::function_ref<Tensor()> make);
  const Tensor *givenFor(const std::string &name) const;
  std::string scalarName(uint32_t scalar) const;

  RunContext &context_;
  const InterpInputs &inputs_;
  std::map<std::string, Tensor> externals_;
  std::vector<Stored> states_, pendingStates_;
  std::vector<Stored> buffers_, assigned_;
  std::map<uint32_t, Stored> scalars_;
};

} // namespace stg::interp

#endif
