//===- SimulateSchedule.cpp - times and memory of a schedule -------------------===//
// A rank runs until its next slot needs something that is not there yet; it is then noted down with that thing, and
// goes on when the thing is made. So each slot is looked at about once, however the ranks wait for each other.
//===----------------------------------------------------------------------===//
#include "stg/Schedule/SimulateSchedule.h"
#include <algorithm>
#include <numeric>

namespace stg {

namespace {

constexpr uint32_t kNoRank = ~0u;

/// What a stage makes of a micro-batch for its neighbours: its output or its input's gradient.
struct Product {
  bool made = false;
  double at = 0;
  uint32_t waiting = kNoRank; // one stage needs it, so one rank at most
};

class Simulation {
public:
  Simulation(const Schedule &schedule, const ScheduleCosts &costs)
      : schedule_(schedule), placement_(schedule.placement), costs_(costs), next_(schedule.ranks.size(), 0),
        outputs_(size_t{placement_.stages} * placement_.microBatches), grads_(outputs_.size()) {
    times_.ranks.resize(schedule.ranks.size());
  }

  std::optional<ScheduleTimes> run() {
    runnable_.resize(schedule_.ranks.size());
    std::iota(runnable_.begin(), runnable_.end(), 0u);
    while (!runnable_.empty()) {
      uint32_t rank = runnable_.back();
      runnable_.pop_back();
      advance(rank);
    }
    for (uint32_t rank = 0; rank < next_.size(); ++rank)
      if (next_[rank] < schedule_.ranks[rank].size())
        return std::nullopt;
    return std::move(times_);
  }

private:
  Product &at(std::vector<Product> &products, uint32_t stage, uint32_t microBatch) {
    return products[size_t{stage} * placement_.microBatches + microBatch];
  }

  /// Runs slots of a rank until one has to wait.
  void advance(uint32_t rank) {
    RankTimes &times = times_.ranks[rank];
    for (; next_[rank] < schedule_.ranks[rank].size(); ++next_[rank]) {
      const Slot &slot = schedule_.ranks[rank][next_[rank]];
      double start = times.slots.empty() ? 0 : times.slots.back().end;
      if (!arrived(slot.action, rank, start) || (slot.overlapped && !arrived(*slot.overlapped, rank, start)))
        return;
      double length = lengthOf(slot);
      times.slots.push_back({start, start + length});
      times.busy += length;
      times_.makespan = std::max(times_.makespan, start + length);
      for (const std::optional<Action> &action : {std::optional(slot.action), slot.overlapped})
        if (action)
          make(*action, start + length, length);
    }
  }

  /// The product of another stage that an action needs.
  Product *neededBy(const Action &action) {
    if (action.kind == ActionKind::Forward)
      return action.stage == 0 ? nullptr : &at(outputs_, action.stage - 1, action.microBatch);
    if (action.kind == ActionKind::WeightGrad || action.stage + 1 == placement_.stages)
      return nullptr;
    return &at(grads_, action.stage + 1, action.microBatch);
  }

  /// Puts `start` off to the time when the action's input is there; false if that is not known yet.
  bool arrived(const Action &action, uint32_t rank, double &start) {
    Product *needed = neededBy(action);
    if (!needed)
      return true;
    if (!needed->made) {
      needed->waiting = rank;
      return false;
    }
    bool isForward = action.kind == ActionKind::Forward;
    uint32_t from = isForward ? action.stage - 1 : action.stage + 1;
    bool sameRank = placement_.rankOf(from, action.microBatch) == rank;
    double send = isForward ? costs_.stages[from].sendOutput : costs_.stages[from].sendGrad;
    start = std::max(start, needed->at + (sameRank ? 0 : send));
    return true;
  }

  void make(const Action &action, double end, double slotLength) {
    if (action.kind == ActionKind::WeightGrad)
      return;
    Product &product = at(action.kind == ActionKind::Forward ? outputs_ : grads_, action.stage, action.microBatch);
    product.made = true;
    product.at = end;
    if (double ahead = aheadOf(action); ahead > 0)
      product.at -= ahead * (slotLength / lengthOf(action));
    if (product.waiting != kNoRank)
      runnable_.push_back(product.waiting);
  }

  double lengthOf(const Action &action) const {
    const StageCosts &costs = costs_.stages[action.stage];
    switch (action.kind) {
    case ActionKind::Forward:
      return costs.forward;
    case ActionKind::Backward:
      return costs.backward();
    case ActionKind::InputGrad:
      return costs.inputGrad;
    case ActionKind::WeightGrad:
      return costs.weightGrad;
    }
    return 0;
  }

  double aheadOf(const Action &action) const {
    const StageCosts &costs = costs_.stages[action.stage];
    return action.kind == ActionKind::Forward     ? costs.outputAhead
           : action.kind == ActionKind::InputGrad ? costs.inputGradAhead
                                                  : costs.backwardAhead;
  }

  double lengthOf(const Slot &slot) const {
    return slot.overlapped ? costs_.overlapped * (lengthOf(slot.action) + lengthOf(*slot.overlapped))
                           : lengthOf(slot.action);
  }

  const Schedule &schedule_;
  const Placement &placement_;
  const ScheduleCosts &costs_;
  std::vector<size_t> next_;
  std::vector<Product> outputs_;
  std::vector<Product> grads_;
  std::vector<uint32_t> runnable_;
  ScheduleTimes times_;
};

/// What an action adds to the activations held, or frees.
double heldBy(const Action &action, HeldShares shares) {
  switch (action.kind) {
  case ActionKind::Forward:
    return shares.forward;
  case ActionKind::Backward:
    return -shares.forward;
  case ActionKind::InputGrad:
    return shares.weightGrad - shares.forward;
  case ActionKind::WeightGrad:
    return -shares.weightGrad;
  }
  return 0;
}

} // namespace

ScheduleCosts uniformCosts(uint32_t stages, StageCosts costs, double send) {
  costs.sendOutput = costs.sendGrad = send;
  return {.stages = std::vector<StageCosts>(stages, costs)};
}

double ScheduleTimes::longestSpan() const {
  double longest = 0;
  for (const RankTimes &rank : ranks)
    longest = std::max(longest, rank.span());
  return longest;
}

std::optional<ScheduleTimes> simulateSchedule(const Schedule &schedule, const ScheduleCosts &costs) {
  return Simulation(schedule, costs).run();
}

std::vector<double> peakHeld(const Schedule &schedule, HeldShares shares) {
  std::vector<double> peaks;
  for (const ActionList &actions : schedule.ranks) {
    double held = 0;
    double peak = 0;
    for (const Slot &slot : actions) {
      // A pair's forward stands first, so both halves are held before the backward frees its own.
      held += heldBy(slot.action, shares);
      peak = std::max(peak, held);
      if (slot.overlapped)
        held += heldBy(*slot.overlapped, shares);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

} // namespace stg
