//===- StepStore.h - what lives across the units of a step ------------------===//
// Weights, states and program inputs are made up or looked up at first use, whole, and cut for each rank. A micro-batch
// finds a state as those before it left it, in whatever order ranks of a pipeline run them; the step as all did. A
// weight that units read in two layouts has a gradient buffer for each.
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
  RankTensors state(UnitId unit, uint32_t slot, int64_t microBatch);
  void writeState(UnitId unit, uint32_t slot, int64_t microBatch, RankTensors value);

  void accumulate(UnitId unit, uint32_t slot, const Value &operand, const RankTensors &value);
  RankTensors gradient(UnitId unit, uint32_t slot) const;
  /// The gradient buffers of a weight hold the sum of what the holders have in those of the same layout.
  static void sumBuffers(llvm::ArrayRef<StepStore *> holders, const std::string &weight);
  /// By those of the inputs; the first of several buffers holds what the others leave.
  void replaceGradients();
  void assign(UnitId unit, uint32_t slot, const Value &operand, RankTensors value);
  /// Whether a weight has been read, but not assigned.
  bool lacksNew(const std::string &weight) const;
  void tally(uint32_t scalar, const Value &operand, const RankTensors &value);
  RankTensors total(uint32_t scalar, const Value &result) const;

  /// Name and type of what a slot names, through bindings.
  std::pair<std::string, TensorType> weightAt(UnitId unit, uint32_t slot) const;

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
  struct StoredState {
    std::string name;
    TensorType type;
    std::optional<Layout> layout;
    std::map<int64_t, RankTensors> writes; ///< by micro-batch; the step's come behind all
  };
  template <class Entry>
  static Entry *find(std::vector<Entry> &list, llvm::StringRef name, const std::optional<Layout> &layout);
  std::vector<NamedTensor> wholes(const std::vector<Stored> &list) const;

  std::pair<std::string, TensorType> stateAt(UnitId unit, uint32_t slot) const;
  const Tensor &wholeWeight(UnitId unit, uint32_t slot);
  /// What a master copy holds before the first step: its weight. Nothing for other states.
  std::optional<Tensor> masteredWeight(UnitId unit, uint32_t slot);
  /// The tensor given under `name`, stored as `type` says; else what `make` makes. Kept under `key`.
  const Tensor &external(const std::string &key, const std::string &name, const TensorType &type, const Tensor *given,
                         llvm::function_ref<Tensor()> make);
  const Tensor *givenFor(const std::string &name) const;
  std::string scalarName(uint32_t scalar) const;
  int64_t timeOf(int64_t microBatch) const;

  RunContext &context_;
  const InterpInputs &inputs_;
  std::map<std::string, Tensor> externals_;
  std::vector<StoredState> states_;
  std::vector<Stored> buffers_, assigned_;
  std::map<uint32_t, Stored> scalars_;
};

} // namespace stg::interp

#endif
