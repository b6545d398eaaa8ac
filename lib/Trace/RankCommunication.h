//===- RankCommunication.h - what a rank says to others, in order -----------===//
// The skeleton of a rank's trace: its communication nodes in the streams in which a reader issues them, and which of
// them each waits for, directly or through compute nodes. Ranks that differ in groups and peers only share a program.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/CheckOptions.h"

namespace stg {

struct CommStep {
  enum class Kind : uint8_t { Collective, Send, Recv };
  Kind kind = Kind::Collective;
  /// Index into RankCommunication::groups (collectives) or ::peers.
  uint32_t slot = 0;
  uint32_t stream = 0;
  uint32_t type = 0; ///< of a collective
  uint64_t tag = 0;  ///< of a message
  uint64_t size = 0;
  uint64_t node = 0;
  std::string name;
  /// Steps of other streams that must be done before: stream, how many. What earlier steps of its own stream wait for
  /// is not repeated.
  std::vector<std::pair<uint32_t, uint32_t>> after;

  bool operator==(const CommStep &) const = default;
};

/// Steps in a topological order; each stream runs its own in this order.
struct CommProgram {
  std::vector<CommStep> steps;
  uint32_t streams = 0;
  /// Per stream: its steps, by place.
  std::vector<std::vector<uint32_t>> byStream;

  bool hasMessages() const {
    for (const CommStep &step : steps)
      if (step.kind != CommStep::Kind::Collective)
        return true;
    return false;
  }
};

struct RankCommunication {
  uint32_t rank = 0;
  uint32_t program = 0;
  std::vector<int64_t> groups; ///< by slot; 0: all ranks
  std::vector<uint32_t> peers; ///< by slot
};

/// `node 5 "F0:x/all_reduce(tp)"`.
std::string describe(const CommStep &step);

} // namespace stg
