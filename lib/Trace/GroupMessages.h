//===- GroupMessages.h - tags and orders of messages inside groups ----------===//
// All ranks of a group send and receive the same in the same order, so a send has one number on all of them: that is
// the tag, and the receive in its place has it too. An exchange of uneven parts takes one number for all its messages,
// as a pair of ranks has one each way. Pairs of ranks inside a group are none of the pipeline's.
//===----------------------------------------------------------------------===//
#pragma once

#include "UnrollTemplates.h"
#include <map>

namespace stg {

class GroupMessages {
public:
  GroupMessages(const ProcessGroups &groups, uint32_t firstRank) : groups_(groups), firstRank_(firstRank) {}

  /// Gives the node both ends.
  void address(const NodeTemplate &from, TraceNode &node) const {
    bool isSend = from.kind == TraceNodeKind::Send;
    uint32_t peer = groups_.formulas()[from.groupKind].memberBehind(firstRank_, from.shift);
    node.likeness = 0;
    node.groupKind = from.groupKind;
    node.shift = from.shift;
    node.sourceRank = isSend ? firstRank_ : peer;
    node.destinationRank = isSend ? peer : firstRank_;
  }
  uint32_t tagOfSend(uint64_t node) { return open_[node] = next_++; }
  /// Of the receive beside a send.
  uint32_t tagOfReceive(uint64_t send) {
    auto found = open_.find(send);
    uint32_t tag = found->second;
    open_.erase(found);
    return tag;
  }
  uint32_t tagOfExchange() { return next_++; }
  /// The last one of its kind between the same places of a group; 0: none yet.
  uint64_t &last(const NodeTemplate &message) { return last_[{message.kind, message.groupKind, message.shift}]; }

private:
  const ProcessGroups &groups_;
  uint32_t firstRank_;
  std::map<uint64_t, uint32_t> open_; ///< tags of sends whose receive is to come
  std::map<std::tuple<TraceNodeKind, uint32_t, uint32_t>, uint64_t> last_;
  uint32_t next_ = 0;
};

} // namespace stg
