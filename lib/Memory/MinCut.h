//===- MinCut.h - the cheapest edges between two nodes ----------------------===//
// Shortest augmenting paths (Edmonds, Karp 1972): graphs here have some hundred nodes, and most paths a few edges.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_MEMORY_MINCUT_H
#define STG_LIB_MEMORY_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace stg {

class FlowGraph {
public:
  /// An edge that is never cut. All other capacities together must be less.
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

  explicit FlowGraph(uint32_t nodes) : edges_(nodes) {}
  void addEdge(uint32_t from, uint32_t to, int64_t capacity);

  /// Per node, whether it is on the sink's side of the cheapest cut between the two; of several such cuts, of the one
  /// nearest to the sink, whose side is part of all others'. Empty if some way has no edge that can be cut. Uses the
  /// graph up.
  std::vector<bool> sinkSide(uint32_t source, uint32_t sink);

private:
  struct Edge {
    uint32_t to;
    uint32_t reverse; ///< its place among the edges of `to`
    int64_t rest;     ///< capacity that is left
  };
  /// Sends as much as the shortest way with capacity left takes; 0 if there is none.
  int64_t augment(uint32_t source, uint32_t sink);

  std::vector<std::vector<Edge>> edges_; ///< by the node that they leave
};

} // namespace stg

#endif
