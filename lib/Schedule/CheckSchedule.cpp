//===- CheckSchedule.cpp - dependencies and counts of a schedule --------------===//
// Three judges, each run only if the one before is silent: what every rank's list has in it (each action once, where it
// belongs, after what it needs of the same stage); whether both ends of every edge between stages take micro-batches in
// one order; and a replay, in which a rank goes on as soon as the other stages have made what its next slot needs.
//===----------------------------------------------------------------------===//
#include "stg/Schedule/CheckSchedule.h"
#include "stg/IR/ScheduleText.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace stg {

namespace {

class ScheduleChecker {
public:
  explicit ScheduleChecker(const Schedule &schedule)
      : schedule_(schedule), placement_(schedule.placement),
        done_(size_t{4} * schedule.placement.stages * schedule.placement.microBatches, false),
        misplaced_(done_.size(), false) {}

  std::vector<ScheduleFault> run() {
    checkLists();
    checkCounts();
    if (faults_.empty())
      checkOrders();
    if (faults_.empty())
      replay();
    std::stable_sort(faults_.begin(), faults_.end(),
                     [](const ScheduleFault &a, const ScheduleFault &b) { return a.rank < b.rank; });
    return std::move(faults_);
  }

private:
  size_t indexOf(ActionKind kind, uint32_t stage, uint32_t microBatch) const {
    return (static_cast<size_t>(kind) * placement_.stages + stage) * placement_.microBatches + microBatch;
  }
  bool done(ActionKind kind, const Action &work) const { return done_[indexOf(kind, work.stage, work.microBatch)]; }
  bool gradDone(const Action &work) const {
    return done(ActionKind::Backward, work) || done(ActionKind::InputGrad, work);
  }

  void report(ScheduleFaultKind kind, uint32_t rank, size_t position, Action action,
              std::optional<Action> other = std::nullopt) {
    faults_.push_back({kind, rank, position, action, other});
  }

  void checkLists() {
    for (uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank)
      for (size_t position = 0; position < schedule_.ranks[rank].size(); ++position) {
        const Slot &slot = schedule_.ranks[rank][position];
        checkAction(slot.action, rank, position);
        if (!slot.overlapped)
          continue;
        checkAction(*slot.overlapped, rank, position);
        if (!isPair(slot))
          report(ScheduleFaultKind::BadPair, rank, position, slot.action, slot.overlapped);
      }
  }

  static bool isPair(const Slot &slot) {
    const Action &backward = *slot.overlapped;
    return slot.action.kind == ActionKind::Forward && makesInputGrad(backward) &&
           (slot.action.stage != backward.stage || slot.action.microBatch != backward.microBatch);
  }

  void checkAction(const Action &action, uint32_t rank, size_t position) {
    if (action.stage >= placement_.stages || action.microBatch >= placement_.microBatches)
      return report(ScheduleFaultKind::OutOfRange, rank, position, action);
    if (placement_.rankOf(action.stage, action.microBatch) != rank) {
      misplaced_[indexOf(action.kind, action.stage, action.microBatch)] = true;
      return report(ScheduleFaultKind::WrongRank, rank, position, action);
    }
    if (doneBefore(action))
      return report(ScheduleFaultKind::Repeated, rank, position, action);
    if (std::optional<Action> needed = missingBefore(action))
      report(ScheduleFaultKind::TooEarly, rank, position, action, needed);
    done_[indexOf(action.kind, action.stage, action.microBatch)] = true;
  }

  /// Whether the work of `action`, or a part of it, has been done. B is I and W.
  bool doneBefore(const Action &action) const {
    if (done(action.kind, action))
      return true;
    switch (action.kind) {
    case ActionKind::Forward:
      return false;
    case ActionKind::Backward:
      return done(ActionKind::InputGrad, action) || done(ActionKind::WeightGrad, action);
    case ActionKind::InputGrad:
    case ActionKind::WeightGrad:
      return done(ActionKind::Backward, action);
    }
    return false;
  }

  /// What the same stage should have done before.
  std::optional<Action> missingBefore(const Action &action) const {
    if (makesInputGrad(action) && !done(ActionKind::Forward, action))
      return Action{ActionKind::Forward, action.stage, action.microBatch};
    if (action.kind == ActionKind::WeightGrad && !done(ActionKind::InputGrad, action))
      return Action{ActionKind::InputGrad, action.stage, action.microBatch};
    return std::nullopt;
  }

  void checkCounts() {
    for (uint32_t microBatch = 0; microBatch < placement_.microBatches; ++microBatch)
      for (uint32_t stage = 0; stage < placement_.stages; ++stage) {
        Action work{ActionKind::Forward, stage, microBatch};
        if (!done(ActionKind::Forward, work))
          reportMissing(ActionKind::Forward, work);
        if (!gradDone(work))
          reportMissing(done(ActionKind::WeightGrad, work) ? ActionKind::InputGrad : ActionKind::Backward, work);
        else if (!done(ActionKind::Backward, work) && !done(ActionKind::WeightGrad, work))
          reportMissing(ActionKind::WeightGrad, work);
      }
  }

  void reportMissing(ActionKind kind, Action work) {
    uint32_t rank = placement_.rankOf(work.stage, work.microBatch);
    size_t end = rank < schedule_.ranks.size() ? schedule_.ranks[rank].size() : 0;
    // It may stand where it does not belong, which has been said.
    if (!misplaced_[indexOf(kind, work.stage, work.microBatch)])
      report(ScheduleFaultKind::Missing, rank, end, {kind, work.stage, work.microBatch});
  }

  struct Placed {
    Action action;
    uint32_t rank;
    size_t position;
  };
  /// Of each copy and stage the forwards, or the backwards, in the order of their rank.
  using OrdersOfStages = std::map<std::pair<uint32_t, uint32_t>, std::vector<Placed>>;

  void collectOrders(OrdersOfStages &forwards, OrdersOfStages &backwards) const {
    for (uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank)
      for (size_t position = 0; position < schedule_.ranks[rank].size(); ++position) {
        const Slot &slot = schedule_.ranks[rank][position];
        auto add = [&](const Action &action) {
          std::pair key{placement_.copyOf(action.microBatch), action.stage};
          if (action.kind == ActionKind::Forward)
            forwards[key].push_back({action, rank, position});
          else if (makesInputGrad(action))
            backwards[key].push_back({action, rank, position});
        };
        add(slot.action);
        if (slot.overlapped)
          add(*slot.overlapped);
      }
  }

  void checkOrders() {
    OrdersOfStages forwards, backwards;
    collectOrders(forwards, backwards);
    for (uint32_t copy = 0; copy < placement_.copies.size(); ++copy)
      for (uint32_t stage = 0; stage + 1 < placement_.stages; ++stage) {
        compareEnds(forwards[{copy, stage}], forwards[{copy, stage + 1}]);
        compareEnds(backwards[{copy, stage + 1}], backwards[{copy, stage}]);
      }
  }

  /// Counts are right, so the ends are equally long.
  void compareEnds(const std::vector<Placed> &from, const std::vector<Placed> &to) {
    for (size_t turn = 0; turn < to.size(); ++turn)
      if (from[turn].action.microBatch != to[turn].action.microBatch)
        return report(ScheduleFaultKind::OrderDisagrees, to[turn].rank, to[turn].position, to[turn].action,
                      from[turn].action);
  }

  void replay() {
    std::fill(done_.begin(), done_.end(), false);
    std::vector<size_t> next(schedule_.ranks.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < next.size(); ++rank)
        while (next[rank] < schedule_.ranks[rank].size() && finish(schedule_.ranks[rank][next[rank]])) {
          ++next[rank];
          moved = true;
        }
    }
    for (uint32_t rank = 0; rank < next.size(); ++rank)
      if (next[rank] < schedule_.ranks[rank].size())
        reportWaiting(rank, next[rank]);
  }

  /// Marks a slot as done if all that it needs of other stages is.
  bool finish(const Slot &slot) {
    if (awaited(slot.action) || (slot.overlapped && awaited(*slot.overlapped)))
      return false;
    done_[indexOf(slot.action.kind, slot.action.stage, slot.action.microBatch)] = true;
    if (slot.overlapped)
      done_[indexOf(slot.overlapped->kind, slot.overlapped->stage, slot.overlapped->microBatch)] = true;
    return true;
  }

  std::optional<Action> awaited(const Action &action) const {
    if (action.kind == ActionKind::Forward && action.stage > 0) {
      Action before{ActionKind::Forward, action.stage - 1, action.microBatch};
      return done(before.kind, before) ? std::nullopt : std::optional(before);
    }
    if (makesInputGrad(action) && action.stage + 1 < placement_.stages) {
      Action after{action.kind, action.stage + 1, action.microBatch};
      return gradDone(after) ? std::nullopt : std::optional(after);
    }
    return std::nullopt;
  }

  void reportWaiting(uint32_t rank, size_t position) {
    const Slot &slot = schedule_.ranks[rank][position];
    if (std::optional<Action> other = awaited(slot.action))
      report(ScheduleFaultKind::Deadlock, rank, position, slot.action, other);
    else if (slot.overlapped)
      report(ScheduleFaultKind::Deadlock, rank, position, *slot.overlapped, awaited(*slot.overlapped));
  }

  const Schedule &schedule_;
  const Placement &placement_;
  std::vector<bool> done_;
  std::vector<bool> misplaced_; // done, but on another rank
  std::vector<ScheduleFault> faults_;
};

} // namespace

std::string textOf(const ScheduleFault &fault, const Placement &placement) {
  std::string action = textOf(fault.action, placement);
  std::string other = fault.other ? textOf(*fault.other, placement) : "";
  std::string where = fmt::format("rank {}, slot {}: ", fault.rank, fault.position);
  switch (fault.kind) {
  case ScheduleFaultKind::OutOfRange:
    return fmt::format("{}{} has no stage or micro-batch of {} and {}", where, action, placement.stages,
                       placement.microBatches);
  case ScheduleFaultKind::WrongRank:
    return fmt::format("{}{} belongs to rank {}", where, action,
                       placement.rankOf(fault.action.stage, fault.action.microBatch));
  case ScheduleFaultKind::Repeated:
    return fmt::format("{}{} is done twice", where, action);
  case ScheduleFaultKind::Missing:
    return fmt::format("rank {}: {} is missing", fault.rank, action);
  case ScheduleFaultKind::TooEarly:
    return fmt::format("{}{} stands before {}", where, action, other);
  case ScheduleFaultKind::BadPair:
    return fmt::format("{}{} and {} cannot overlap: a pair is a forward and a backward of two micro-batches", where,
                       action, other);
  case ScheduleFaultKind::OrderDisagrees:
    return fmt::format("{}{} where the other end has {}", where, action, other);
  case ScheduleFaultKind::Deadlock:
    return fmt::format("{}{} waits for {} for ever", where, action, other);
  }
  return "";
}

std::vector<ScheduleFault> checkSchedule(const Schedule &schedule) { return ScheduleChecker(schedule).run(); }

} // namespace stg
