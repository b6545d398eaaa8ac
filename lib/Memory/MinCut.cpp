//===- MinCut.cpp -----------------------------------------------------------===//
#include "MinCut.h"
#include <algorithm>
#include <optional>

namespace stg {

void FlowGraph::addEdge(uint32_t from, uint32_t to, int64_t capacity) {
  auto there = static_cast<uint32_t>(edges_[from].size());
  auto back = static_cast<uint32_t>(edges_[to].size()) + (from == to ? 1 : 0);
  edges_[from].push_back({to, back, capacity});
  edges_[to].push_back({from, there, 0});
}

int64_t FlowGraph::augment(uint32_t source, uint32_t sink) {
  struct Step {
    uint32_t from, edge;
  };
  std::vector<std::optional<Step>> cameBy(edges_.size());
  std::vector<uint32_t> queue{source};
  for (size_t next = 0; next < queue.size() && !cameBy[sink]; ++next) {
    uint32_t at = queue[next];
    for (uint32_t i = 0; i < edges_[at].size(); ++i) {
      const Edge &edge = edges_[at][i];
      if (edge.rest == 0 || edge.to == source || cameBy[edge.to])
        continue;
      cameBy[edge.to] = Step{at, i};
      queue.push_back(edge.to);
    }
  }
  if (!cameBy[sink])
    return 0;
  int64_t amount = kUnbounded;
  for (uint32_t at = sink; at != source; at = cameBy[at]->from)
    amount = std::min(amount, edges_[cameBy[at]->from][cameBy[at]->edge].rest);
  for (uint32_t at = sink; at != source; at = cameBy[at]->from) {
    Edge &edge = edges_[cameBy[at]->from][cameBy[at]->edge];
    edge.rest -= amount;
    edges_[edge.to][edge.reverse].rest += amount;
  }
  return amount;
}

std::vector<bool> FlowGraph::sinkSide(uint32_t source, uint32_t sink) {
  for (int64_t total = 0; int64_t amount = augment(source, sink);) {
    total += amount;
    if (total >= kUnbounded)
      return {};
  }
  // What still reaches the sink: backwards over edges with capacity left.
  std::vector<bool> reaches(edges_.size(), false);
  std::vector<uint32_t> queue{sink};
  reaches[sink] = true;
  for (size_t next = 0; next < queue.size(); ++next)
    for (const Edge &edge : edges_[queue[next]])
      if (!reaches[edge.to] && edges_[edge.to][edge.reverse].rest != 0) {
        reaches[edge.to] = true;
        queue.push_back(edge.to);
      }
  return reaches;
}

} // namespace stg
