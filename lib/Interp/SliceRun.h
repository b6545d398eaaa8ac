//===- SliceRun.h - the ranks that run the same actions ---------------------===//
// A slice is one rank of the pipeline: the ranks of the mesh that have that coordinate on its axis; or all ranks, or
// one device, where nothing is cut. It has the weights, states, gradient buffers and scalars of its stages, a UnitRun
// for each unit and micro-batch that it runs, and of other slices' values what has arrived.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_SLICERUN_H
#define STG_LIB_INTERP_SLICERUN_H

#include "StepStore.h"

namespace stg::interp {

class SliceRun {
public:
  /// Sees each result of each op.
  using Made = llvm::function_ref<void(const UnitRun &unit, ValueId value, const RankTensors &parts)>;

  /// `pipeline`: that of the program, or one stage of all that micro-batches run.
  SliceRun(const Pipeline &pipeline, uint32_t rank, RunContext context, const InterpInputs &inputs)
      : program_(context.program), pipeline_(pipeline), rank_(rank), inputs_(inputs), context_(context),
        store_(context_, inputs) {}
  SliceRun(const SliceRun &) = delete;
  SliceRun &operator=(const SliceRun &) = delete;

  const RunContext &context() const { return context_; }
  StepStore &store() { return store_; }

  /// A value of another slice that the action reads and that has not arrived; nothing if the action can run.
  std::optional<UnitValue> lacks(const Action &action) const;
  void run(const Action &action, Made made);
  /// What a transfer brings. Throws InterpFault if it is there already.
  void arrive(const Transfer &transfer, int64_t microBatch, RankTensors parts);
  /// Throws InterpFault if it has not been computed.
  const RankTensors &output(UnitValue from, int64_t microBatch) const;
  /// Its values are not needed any more, but that those of the last one are there in the step.
  void finish(int64_t microBatch);

  /// Units of stages in reverse, then the slice's own units of the step, in order.
  void runSync(Made made);
  /// The slice's own units of the step, then those of stages.
  void runStep(Made made);

private:
  class Outside;
  struct Arrival {
    RankTensors parts;
    uint32_t stage = 0; ///< that receives it
    bool isRead = false;
  };

  void runUnit(UnitId unit, int64_t microBatch, llvm::function_ref<bool(const Op &)> wanted, Made made);
  UnitRun &unitRun(UnitId unit, int64_t microBatch);
  /// Whether a unit's values of a micro-batch are made here.
  bool isOwn(UnitId unit, int64_t microBatch) const;
  bool isFirstCopy(UnitId unit) const;
  /// Whether it brings in what a later unit's backward has made.
  bool readsBackward(const Body &body, const Op &op) const;
  RankTensors bound(UnitId unit, uint32_t slot, int64_t microBatch);
  const RankTensors &arrived(UnitValue from, UnitId reader, int64_t microBatch);
  ValueId valueOf(UnitValue from) const;

  const Program &program_;
  const Pipeline &pipeline_;
  uint32_t rank_;
  const InterpInputs &inputs_;
  RunContext context_;
  StepStore store_;
  std::map<std::pair<int64_t, UnitId>, UnitRun> units_;              ///< by micro-batch, or kOfStep
  std::map<std::tuple<int64_t, UnitId, ValueId>, Arrival> arrivals_; ///< by micro-batch
};

} // namespace stg::interp

#endif
