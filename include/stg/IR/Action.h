//===- Action.h - what the ranks of a pipeline do --------------------------===//
// A pipeline cuts a model into stages, in model order, and a batch into micro-batches. One pass of a micro-batch
// through a stage is an action. A schedule says on which rank each action runs and in which order.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_ACTION_H
#define STG_IR_ACTION_H

#include <cstdint>
#include <optional>
#include <vector>

namespace stg {

/// `Backward` is `InputGrad` and `WeightGrad` at once.
enum class ActionKind : uint8_t { Forward, Backward, InputGrad, WeightGrad };

/// `F`, `B`, `I`, `W`.
char letterOf(ActionKind kind);

struct Action {
  ActionKind kind = ActionKind::Forward;
  uint32_t stage = 0;
  uint32_t microBatch = 0;
  bool operator==(const Action &) const = default;
};

/// Whether the action makes the gradient that the stage before it waits for.
inline bool makesInputGrad(const Action &action) {
  return action.kind == ActionKind::Backward || action.kind == ActionKind::InputGrad;
}
/// Whether the action makes the gradients of the stage's weights.
inline bool makesWeightGrad(const Action &action) {
  return action.kind == ActionKind::Backward || action.kind == ActionKind::WeightGrad;
}

/// One entry of a rank's list: an action, or a forward and a backward action of two micro-batches that overlap
/// (DualPipe) and count as one.
struct Slot {
  Action action;
  std::optional<Action> overlapped = std::nullopt;
  bool operator==(const Slot &) const = default;
};

/// What one rank does, in order.
using ActionList = std::vector<Slot>;

} // namespace stg

#endif
