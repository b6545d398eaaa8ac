//===- Replay.h - do all ranks finish? --------------------------------------===//
// Every rank issues each of its streams in order. A collective is done when all members have issued it; a receive when
// its send is issued; a send at once (eager) or when its receive is issued (rendezvous).
//===----------------------------------------------------------------------===//
#pragma once

#include "RankCommunication.h"

namespace stg {

enum class SendRule : uint8_t { Eager, Rendezvous };

/// A rank that waits for ever, and why.
struct Stuck {
  uint32_t rank = 0;
  const CommStep *step = nullptr;
  /// The ranks that wait for one another, beginning with this one.
  std::string text;
};

/// The ranks' communication must match (CheckCommunication.cpp). `members` has the ranks of each group in use.
std::optional<Stuck> replay(const std::vector<CommProgram> &programs, const std::vector<RankCommunication> &ranks,
                            const std::map<int64_t, std::vector<uint32_t>> &members, SendRule rule);

} // namespace stg
