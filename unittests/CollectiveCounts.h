//===- CollectiveCounts.h - collectives as the tables of plans write them -----===//
// `AG(tp) 2, RS(tp) 2`.
//===----------------------------------------------------------------------===//
#ifndef STG_UNITTESTS_COLLECTIVECOUNTS_H
#define STG_UNITTESTS_COLLECTIVECOUNTS_H

#include "stg/IR/Program.h"
#include <map>
#include <string>

namespace stg::test {

/// How often each collective stands in a list.
using CollectiveCounts = std::map<std::string, int>;

/// `AG`; null for what is no collective.
inline const char *shortName(const Op &op) {
  switch (op.kind) {
  case OpKind::ReduceScatter:
    return "RS";
  case OpKind::AllReduce:
    return op.get<CollectiveFields>().fn == ReduceFn::Max ? "AR-max" : "AR";
  case OpKind::AllToAll:
    return "A2A";
  case OpKind::AllGather:
    return "AG";
  default:
    return nullptr;
  }
}

/// By name.
inline std::string toText(const CollectiveCounts &counts) {
  std::string text;
  for (const auto &[what, count] : counts)
    text += (text.empty() ? "" : ", ") + what + " " + std::to_string(count);
  return text;
}

} // namespace stg::test

#endif
