//===- DualPipe.cpp - DualPipe and DualPipeV in DeepSeek's order --------------===//
// Both are one rule over two lanes of a rank. In DualPipe micro-batches enter at both ends: of the first half of the
// ranks, lane 0 is the copy that enters at rank 0, of the second half the other one, so that the two halves mirror each
// other. DualPipeV is the first half alone: its lanes are the two arms of a V.
//
// `depth` is how far the rank is from where lane 0 enters, of `half` ranks. Eight steps: forwards of lane 0; forwards
// of both; backwards of lane 1 with W apart while lane 0 still waits; the main part, in which each forward overlaps a
// backward of the other lane; then the same backwards, from where W is put off to fill the bubble at the end.
//===----------------------------------------------------------------------===//
#include "RankOrders.h"
#include <deque>

namespace stg {

namespace {

struct Lane {
  uint32_t stage;
  uint32_t firstMicroBatch;
};

enum class WeightGrads { WithInput, Later };

class TwoLaneOrder {
public:
  TwoLaneOrder(Lane lane0, Lane lane1) : lanes_{lane0, lane1} {}

  ActionList run(uint32_t half, uint32_t depth, uint32_t microBatches) {
    uint32_t towardsMiddle = half - depth - 1;
    for (uint32_t i = 0; i < 2 * towardsMiddle; ++i)
      add(forward(0));
    for (uint32_t i = 0; i < depth + 1; ++i) {
      add(forward(0));
      add(forward(1));
    }
    for (uint32_t i = 0; i < towardsMiddle; ++i) {
      add(backward(1, WeightGrads::Later));
      weightGrad();
      add(forward(1));
    }
    mainPart(microBatches - 2 * half + depth + 1, towardsMiddle == 0);
    for (uint32_t i = 0; i < towardsMiddle; ++i) {
      add(backward(1, WeightGrads::WithInput));
      overlap(1, 0);
    }
    drain(depth);
    for (uint32_t i = 0; i < towardsMiddle; ++i) {
      weightGrad();
      add(backward(0, WeightGrads::Later));
    }
    for (uint32_t i = 0; i < depth + 1; ++i)
      weightGrad();
    return std::move(actions_);
  }

private:
  void mainPart(uint32_t rounds, bool middle) {
    for (uint32_t i = 0; i < rounds; ++i) {
      if (i == 0 && middle) {
        // The neighbour in the middle waits for this forward: apart, it ends earlier.
        add(forward(0));
        add(backward(1, WeightGrads::WithInput));
      } else {
        overlap(0, 1);
      }
      overlap(1, 0);
    }
  }

  /// Backwards of both lanes; from the middle on W is put off.
  void drain(uint32_t depth) {
    uint32_t rounds = depth + 1;
    for (uint32_t i = 0; i < rounds; ++i) {
      bool behindTurn = i > rounds / 2;
      bool atTurn = i == rounds / 2;
      bool lane1Later = behindTurn || (atTurn && depth % 2 == 1);
      add(backward(1, lane1Later ? WeightGrads::Later : WeightGrads::WithInput));
      add(backward(0, behindTurn || atTurn ? WeightGrads::Later : WeightGrads::WithInput));
    }
  }

  Action forward(uint32_t lane) {
    return {ActionKind::Forward, lanes_[lane].stage, lanes_[lane].firstMicroBatch + forwards_[lane]++};
  }

  Action backward(uint32_t lane, WeightGrads weightGrads) {
    bool later = weightGrads == WeightGrads::Later;
    Action action{later ? ActionKind::InputGrad : ActionKind::Backward, lanes_[lane].stage,
                  lanes_[lane].firstMicroBatch + backwards_[lane]++};
    if (later)
      waiting_.push_back({ActionKind::WeightGrad, action.stage, action.microBatch});
    return action;
  }

  void weightGrad() {
    add(waiting_.front());
    waiting_.pop_front();
  }

  void overlap(uint32_t forwardLane, uint32_t backwardLane) {
    Action first = forward(forwardLane);
    actions_.push_back({first, backward(backwardLane, WeightGrads::WithInput)});
  }

  void add(Action action) { actions_.push_back({action}); }

  Lane lanes_[2];
  uint32_t forwards_[2] = {0, 0};
  uint32_t backwards_[2] = {0, 0};
  std::deque<Action> waiting_; // W put off, oldest first, of either lane
  ActionList actions_;
};

} // namespace

ActionList dualPipeOrder(const ScheduleSizes &sizes, uint32_t rank) {
  uint32_t half = sizes.ranks / 2;
  uint32_t perCopy = sizes.microBatches / 2;
  uint32_t mirrored = sizes.ranks - 1 - rank;
  Lane first{rank, 0};
  Lane second{mirrored, perCopy};
  return rank < half ? TwoLaneOrder(first, second).run(half, rank, perCopy)
                     : TwoLaneOrder(second, first).run(half, mirrored, perCopy);
}

ActionList dualPipeVOrder(const ScheduleSizes &sizes, uint32_t rank) {
  return TwoLaneOrder({rank, 0}, {2 * sizes.ranks - 1 - rank, 0}).run(sizes.ranks, rank, sizes.microBatches);
}

} // namespace stg
