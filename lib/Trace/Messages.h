//===- Messages.h - what ranks of a pipeline send each other, in order ------===//
// A message is a transfer of one micro-batch. Between two ranks the order is that in which the sender's actions make
// the values; the receiver posts its receives in the same order, whatever it needs first, and both ends count them: the
// number is the tag.
//===----------------------------------------------------------------------===//
#pragma once

#include "SlotOrigins.h"
#include <map>

namespace stg {

/// The halves of an overlapped pair run as one: of their nodes the one comes next whose half would be further behind
/// without it, `done` of `total` counted with it; forward first where they are even.
inline bool forwardIsNext(uint64_t forwardDone, uint64_t forwardTotal, uint64_t backwardDone, uint64_t backwardTotal) {
  return forwardDone * backwardTotal <= backwardDone * forwardTotal;
}

class Messages {
public:
  Messages(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates, const SlotOrigins &origins);

  /// A transfer that leaves when its action has issued `after` nodes.
  struct Departure {
    uint32_t transfer;
    uint32_t after;
  };
  /// In order.
  llvm::ArrayRef<Departure> departures(const Action &action) const;
  /// Transfers that the action needs, ascending.
  llvm::ArrayRef<uint32_t> arrivals(const Action &action) const;

  /// What `from` sends to `to`, in order.
  struct Message {
    uint32_t transfer;
    uint32_t microBatch;
  };
  llvm::ArrayRef<Message> between(uint32_t from, uint32_t to) const;
  /// Its place in that order.
  uint32_t tag(uint32_t transfer, uint32_t microBatch) const { return tags_[number(transfer, microBatch)]; }
  uint32_t sender(uint32_t transfer, uint32_t microBatch) const;
  uint32_t receiver(uint32_t transfer, uint32_t microBatch) const;
  /// A number of its own for each message.
  size_t number(uint32_t transfer, uint32_t microBatch) const {
    return size_t{transfer} * pipeline_.placement.microBatches + microBatch;
  }
  size_t count() const { return tags_.size(); }

private:
  static size_t kindOf(const Action &action) { return static_cast<size_t>(action.kind); }
  void findDepartures(uint32_t stage, ActionKind kind);
  void send(const Action &action, const Departure &departure);
  void sendPair(const Action &forward, const Action &backward);

  static constexpr size_t kKinds = 4;
  const Program &program_;
  const Pipeline &pipeline_;
  llvm::ArrayRef<std::optional<BodyTemplate>> templates_;
  const SlotOrigins &origins_;
  std::vector<std::array<std::vector<Departure>, kKinds>> departures_; ///< by stage
  std::vector<std::array<uint32_t, kKinds>> nodes_;                    ///< by stage: of an action
  std::vector<std::array<std::vector<uint32_t>, 2>> arrivals_;         ///< by stage: forward, backward
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Message>> between_;
  std::vector<uint32_t> tags_;
};

} // namespace stg
