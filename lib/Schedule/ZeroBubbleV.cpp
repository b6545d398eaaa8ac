//===- ZeroBubbleV.cpp - ZB-V in PyTorch's order -----------------------------===//
// Rank r holds stages r (down the V) and 2p - 1 - r (up again). The rule is made for at least 2p - 1 micro-batches,
// which keep every rank busy when F, I and W take equal times; with fewer, the list for 2p - 1 is made and the surplus
// left out.
//===----------------------------------------------------------------------===//
#include "RankOrders.h"
#include <algorithm>

namespace stg {

namespace {

/// Appends the actions of one stage, each kind counting its own micro-batches.
class StageActions {
public:
  StageActions(ActionList &actions, uint32_t stage, uint32_t microBatches)
      : actions_(actions), stage_(stage), microBatches_(microBatches) {}

  void forward() { add(ActionKind::Forward, forwards_++); }
  void inputGrad() { add(ActionKind::InputGrad, inputGrads_++); }
  void weightGrad() { add(ActionKind::WeightGrad, weightGrads_++); }
  void backward() {
    inputGrad();
    weightGrad();
  }
  void restOfWeightGrads() {
    while (weightGrads_ < inputGrads_)
      weightGrad();
  }
  uint32_t forwards() const { return forwards_; }

private:
  void add(ActionKind kind, uint32_t microBatch) {
    if (microBatch < microBatches_)
      actions_.push_back({{kind, stage_, microBatch}});
  }

  ActionList &actions_;
  uint32_t stage_;
  uint32_t microBatches_;
  uint32_t forwards_ = 0;
  uint32_t inputGrads_ = 0;
  uint32_t weightGrads_ = 0;
};

} // namespace

ActionList zeroBubbleVOrder(const ScheduleSizes &sizes, uint32_t rank) {
  uint32_t behind = sizes.ranks - rank; // this rank and those after it
  uint32_t rounds = std::max(2 * sizes.ranks - 1, sizes.microBatches);
  ActionList actions;
  StageActions down(actions, rank, sizes.microBatches);
  StageActions up(actions, 2 * sizes.ranks - 1 - rank, sizes.microBatches);

  for (uint32_t i = 0; i < 2 * behind - 1; ++i)
    down.forward();
  for (uint32_t i = 0; i < rank; ++i) {
    up.forward();
    down.forward();
  }
  for (uint32_t i = 0; i < behind; ++i) {
    up.forward();
    up.backward();
  }
  while (up.forwards() < rounds) {
    if (down.forwards() < rounds)
      down.forward();
    down.backward();
    up.forward();
    up.backward();
  }
  for (uint32_t i = 0; i < rank; ++i) {
    down.inputGrad();
    up.inputGrad();
  }
  for (uint32_t i = 0; i < behind; ++i)
    down.backward();
  up.restOfWeightGrads();
  down.restOfWeightGrads();
  return actions;
}

} // namespace stg
