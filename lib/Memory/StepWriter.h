//===- StepWriter.h - sync and step of weights that a body steps ------------===//
#ifndef STG_LIB_MEMORY_STEPWRITER_H
#define STG_LIB_MEMORY_STEPWRITER_H

#include "StepBuilder.h"
#include "StoredForms.h"
#include "stg/IR/PassStats.h"

namespace stg {

/// A weight slot of a body that is stepped there. Several slots of one group are one weight in several layouts.
struct TrainedSlot {
  uint32_t slot;
  uint32_t group;
  const OptimizerRule *rule = nullptr;
  BodyId optimizer;
  StoredForms forms;
};

/// Gradients that travel in one collective.
struct GradientBucket {
  AtomList atoms;
  ElementType element;
  uint32_t slot; ///< where each weight is for itself
  bool allReduces;
  llvm::SmallVector<ValueId, 8> values;
  llvm::SmallVector<size_t, 8> of;
};

/// Writes the Sync and Step ops of one body after the other.
class StepWriter {
public:
  StepWriter(Program &program, PassStats &stats) : program_(program), context_(*program.context), stats_(stats) {}

  /// Completes the gradients of the slots, in the layout of the optimizer's states; one for each group of slots.
  /// `counted`: those whose gradients this rank adds to the norm.
  void sync(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots, llvm::ArrayRef<TrainedSlot> counted);
  /// Runs the optimizer on what was synchronised last and gives the weights their new values.
  void step(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots);

  /// A scalar of the program by its name.
  std::optional<uint32_t> scalar(llvm::StringRef name) const;
  ValueId readScalar(StepBuilder &builder, uint32_t scalar, const AtomList &partial, llvm::StringRef name);

private:
  /// A new weight that ranks have in shards and need whole.
  struct NewWeight {
    const TrainedSlot *of;
    uint32_t slot;
    ValueId shard;
  };
  llvm::StringRef slotName(const StepBuilder &builder, uint32_t slot);
  /// The gradient; where the weight's own layout splits what it is partial on, that is split at once.
  ValueId readBuffer(StepBuilder &builder, const TrainedSlot &slot);
  static void addTo(std::vector<GradientBucket> &buckets, const AtomList &atoms, const TrainedSlot &slot, size_t index,
                    const StepBuilder &builder, ValueId value);
  /// Where the optimizer's states are in shards, so are the gradients from here on.
  void sumToShards(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                   std::vector<std::optional<ValueId>> &gradients);
  /// Sums that were communicated in another element type.
  void castBack(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                std::vector<std::optional<ValueId>> &gradients);
  void sumRest(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots, std::vector<std::optional<ValueId>> &gradients);
  void mergeGroups(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> slots,
                   llvm::ArrayRef<std::optional<ValueId>> complete);
  ValueId gradientOf(uint32_t group) const;
  /// Each weight counts once: on coordinate 0 of the atoms that don't split its gradient (language.md 2.3).
  void tallyNorm(StepBuilder &builder, llvm::ArrayRef<TrainedSlot> counted);
  static bool isGathered(const Layout &from, const Layout &to, const StoredForms &forms);
  /// One all-gather for all weights of the unit.
  void gatherNew(StepBuilder &builder, llvm::ArrayRef<NewWeight> gathered);
  /// The new weight in its element type. The optimizer works on the master copy if that has another element type.
  ValueId updateWeight(StepBuilder &builder, const TrainedSlot &slot, const WeightSlot &weight, ValueId gradient,
                       const std::string &name);
  uint32_t declareState(StepBuilder &builder, const std::string &name, TensorType type, Layout layout,
                        SourceRange where);
  ValueId inlineOptimizer(StepBuilder &builder, const TrainedSlot &slot, const WeightSlot &weight, ValueId old,
                          ValueId gradient, const std::string &name);
  /// Element-wise work stays where the weight is; what is not element-wise needs its operands whole (Muon's matrices).
  void inlineOp(StepBuilder &builder, const Body &optimizer, const Op &op, const Layout &home,
                std::vector<ValueId> &values, const std::string &name);

  Program &program_;
  IRContext &context_;
  PassStats &stats_;
  /// Of the body at hand: per group of slots, its complete gradient.
  std::vector<std::pair<uint32_t, ValueId>> gradients_;
};

} // namespace stg

#endif
