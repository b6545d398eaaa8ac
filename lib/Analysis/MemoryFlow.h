//===- MemoryFlow.h - who makes and who reads what units share --------------===//
// Facts of the program that its ranks share: which tensor stands behind each input slot of each unit, which messages an
// action sends and needs, and the order of messages between two ranks. A rank posts receives in the order in which the
// sender sends, so a message may be there before it is needed.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_ANALYSIS_MEMORYFLOW_H
#define STG_LIB_ANALYSIS_MEMORYFLOW_H

#include "MemoryProfile.h"
#include <map>

namespace stg {

/// What an input slot reads, values that are handed on followed to where they are made.
struct MemoryOrigin {
  /// Made: tensor `index` of `unit`. Message: transfer `index`. Nothing: a slot of the program or a constant.
  enum class Kind : uint8_t { Nothing, Made, Message };
  Kind kind = Kind::Nothing;
  UnitId unit;
  uint32_t index = 0;
};

class MemoryFlow {
public:
  /// `profiles` by body; only those of units are there.
  MemoryFlow(const Program &program, llvm::ArrayRef<std::optional<BodyProfile>> profiles);

  const BodyProfile &profileOf(UnitId unit) const { return *profiles_[program_.units[unit.index].body.index]; }
  MemoryOrigin input(UnitId unit, uint32_t slot) const { return inputs_[firstInput_[unit.index] + slot]; }
  /// Where a rank that runs `from.unit` has the value from.
  MemoryOrigin output(UnitValue from) const;

  /// A transfer that leaves when its action has done `after` nodes. 0: it was there before.
  struct Departure {
    uint32_t transfer;
    uint32_t after;
  };
  struct Message {
    uint32_t transfer;
    uint32_t microBatch;
  };
  /// In order.
  llvm::ArrayRef<Departure> departures(const Action &action) const { return of(action).departures; }
  /// Transfers that the action needs, ascending.
  llvm::ArrayRef<uint32_t> arrivals(const Action &action) const;
  /// What a rank sends to another, in order, and the place of a message in it.
  llvm::ArrayRef<Message> between(uint32_t from, uint32_t to) const;
  uint32_t placeOf(uint32_t transfer, uint32_t microBatch) const { return places_[number(transfer, microBatch)]; }
  uint32_t sender(uint32_t transfer, uint32_t microBatch) const;
  /// A run of a unit, and the unit in whose turn it is: weights are gathered in the turn of a unit before their own.
  struct Leg {
    UnitId unit;
    MemoryRun run;
    UnitId turn;
  };
  /// What an action runs, in order; runs without nodes are left out.
  llvm::ArrayRef<Leg> legs(const Action &action) const { return of(action).legs; }
  uint32_t nodesOf(const Action &action) const { return of(action).nodes; }
  /// How many units ahead weights are gathered.
  uint32_t prefetch() const { return prefetch_; }

  /// Without a pipeline: all units in one stage, one micro-batch after the other.
  const std::vector<uint32_t> &firstUnits() const { return firstUnits_; }
  const ActionList &list(uint32_t rank) const { return program_.pipeline ? program_.pipeline->lists[rank] : list_; }

private:
  struct ActionFacts {
    std::vector<Leg> legs;
    std::vector<Departure> departures;
    uint32_t nodes = 0;
  };
  const ActionFacts &of(const Action &action) const { return actions_[action.stage][static_cast<size_t>(action.kind)]; }

  void followAll();
  void findLegs(uint32_t stage, ActionKind kind);
  std::optional<uint32_t> transferOf(UnitValue value, UnitId reader) const;
  void findDepartures(uint32_t stage, ActionKind kind);
  void orderMessages();
  void send(uint32_t transfer, uint32_t microBatch);
  size_t number(uint32_t transfer, uint32_t microBatch) const {
    return size_t{transfer} * program_.pipeline->placement.microBatches + microBatch;
  }

  static constexpr size_t kActions = 4;
  const Program &program_;
  llvm::ArrayRef<std::optional<BodyProfile>> profiles_;
  std::vector<uint32_t> firstUnits_;
  ActionList list_;
  std::vector<size_t> firstInput_; ///< by unit
  std::vector<MemoryOrigin> inputs_;
  uint32_t prefetch_ = 0;
  std::vector<std::array<ActionFacts, kActions>> actions_;     ///< by stage, by kind
  std::vector<std::array<std::vector<uint32_t>, 2>> arrivals_; ///< by stage: forward, backward
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Message>> between_;
  std::vector<uint32_t> places_;
};

/// The halves of an overlapped pair take turns: the one comes next whose half would be further behind without it,
/// forward first where they are even.
inline bool forwardTakesTurn(uint64_t forwardDone, uint64_t forwardTotal, uint64_t backwardDone,
                             uint64_t backwardTotal) {
  return forwardDone * backwardTotal <= backwardDone * forwardTotal;
}

} // namespace stg

#endif
