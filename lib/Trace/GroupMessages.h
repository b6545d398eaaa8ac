//===- GroupMessages.h - tags and orders of messages inside groups ----------===//
// All ranks of a group send and receive the same in the same order, so a send has one number on all of them: that is
// the tag, and the receive in its place has it too. Pairs of ranks inside a group are none of the pipeline's.
//===----------------------------------------------------------------------===//
#pragma once

#include "UnrollTemplates.h"
#include <map>

namespace stg {

class GroupMessages {
public:
  uint32_t tagOfSend(uint64_t node) { return open_[node] = next_++; }
  /// Of the receive beside a send.
  uint32_t tagOfReceive(uint64_t send) {
    auto found = open_.find(send);
    uint32_t tag = found->second;
    open_.erase(found);
    return tag;
  }
  /// The last one of its kind between the same places of a group; 0: none yet.
  uint64_t &last(const NodeTemplate &message) { return last_[{message.kind, message.groupKind, message.shift}]; }

private:
  std::map<uint64_t, uint32_t> open_; ///< tags of sends whose receive is to come
  std::map<std::tuple<TraceNodeKind, uint32_t, uint32_t>, uint64_t> last_;
  uint32_t next_ = 0;
};

} // namespace stg
