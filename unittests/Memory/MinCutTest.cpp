//===- MinCutTest.cpp - the cut against all cuts -----------------------------===//
#include "../lib/Memory/MinCut.h"
#include "gtest/gtest.h"
#include <random>

namespace stg {
namespace {

struct Edge {
  uint32_t from, to;
  int64_t capacity;
};

/// Nodes as bits: whether it is on the sink's side. The smallest of the cheapest sides; nothing if all are unbounded.
std::optional<uint32_t> byTrial(uint32_t nodes, const std::vector<Edge> &edges) {
  std::optional<int64_t> least;
  uint32_t smallest = 0;
  for (uint32_t side = 0; side < 1u << nodes; ++side) {
    if ((side & 1) || !(side >> (nodes - 1) & 1)) // the first node is the source, the last one the sink
      continue;
    int64_t cost = 0;
    for (const Edge &edge : edges)
      if (!(side >> edge.from & 1) && (side >> edge.to & 1))
        cost = std::min(FlowGraph::kUnbounded, cost + edge.capacity);
    if (cost >= FlowGraph::kUnbounded || (least && cost > *least))
      continue;
    smallest = least && cost == *least ? smallest & side : side;
    least = cost;
  }
  return least ? std::optional(smallest) : std::nullopt;
}

TEST(MinCut, IsTheCheapestAndTheNearestToTheSink) {
  std::mt19937 random(7);
  auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  size_t unbounded = 0, withTies = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    uint32_t nodes = 2 + below(7);
    std::vector<Edge> edges;
    for (uint32_t i = below(3 * nodes); i-- > 0;)
      edges.push_back({below(nodes), below(nodes), below(5) == 0 ? FlowGraph::kUnbounded : below(4)});
    FlowGraph graph(nodes), reversed(nodes);
    for (const Edge &edge : edges) {
      graph.addEdge(edge.from, edge.to, edge.capacity);
      reversed.addEdge(edge.to, edge.from, edge.capacity);
    }
    std::vector<bool> side = graph.sinkSide(0, nodes - 1);
    std::optional<uint32_t> wanted = byTrial(nodes, edges);
    ASSERT_EQ(side.empty(), !wanted) << trial;
    unbounded += side.empty();
    for (uint32_t node = 0; node < side.size(); ++node)
      ASSERT_EQ(side[node], (*wanted >> node & 1) != 0) << trial << ", node " << node;
    // The cut of the reversed graph is the one nearest to the source.
    std::vector<bool> far = reversed.sinkSide(nodes - 1, 0);
    for (uint32_t node = 0; node < side.size(); ++node)
      if (side[node] == far[node]) {
        ++withTies;
        break;
      }
  }
  EXPECT_GT(unbounded, 50u);
  EXPECT_GT(withTies, 500u);
}

TEST(MinCut, TwoValuesOrTheOneThatIsMadeOfThem) {
  // Source 0, a 1-2, b 3-4, their sum 5-6, sink 7.
  auto cut = [](int64_t a, int64_t b, int64_t sum) {
    FlowGraph graph(8);
    for (uint32_t start : {1u, 3u})
      graph.addEdge(0, start, FlowGraph::kUnbounded);
    graph.addEdge(1, 2, a);
    graph.addEdge(3, 4, b);
    graph.addEdge(5, 6, sum);
    graph.addEdge(2, 5, FlowGraph::kUnbounded);
    graph.addEdge(4, 5, FlowGraph::kUnbounded);
    graph.addEdge(6, 7, FlowGraph::kUnbounded);
    return graph.sinkSide(0, 7);
  };
  EXPECT_FALSE(cut(3, 4, 5)[5]);
  EXPECT_TRUE(cut(3, 4, 8)[5]);
  EXPECT_FALSE(cut(3, 4, 7)[5]) << "of equal cuts the one that leaves less to compute";
}

} // namespace
} // namespace stg
