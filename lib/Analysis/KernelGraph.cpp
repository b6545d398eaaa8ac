//===- KernelGraph.cpp - groups of ops that stay free of cycles -------------===//
// A node is deeper than its producers, so a path from `node` can only lead to deeper nodes: the search backwards from
// `others` stops at depth(node). A new edge makes the reader deeper and, as far as needed, what reads from it. In the
// order of a body nearly all new edges come from shallower nodes, which costs nothing.
//===----------------------------------------------------------------------===//
#include "KernelGraph.h"
#include <algorithm>
#include <queue>

namespace stg {

uint32_t KernelGraph::addNode() {
  nodes_.emplace_back();
  return static_cast<uint32_t>(nodes_.size() - 1);
}

bool KernelGraph::leadsTo(uint32_t node, llvm::ArrayRef<uint32_t> others) {
  uint32_t search = ++searches_, floor = nodes_[node].depth;
  stack_.clear();
  auto visit = [&](uint32_t next) {
    Node &at = nodes_[next];
    if (at.depth <= floor || at.mark == search)
      return;
    at.mark = search;
    stack_.push_back(next);
  };
  for (uint32_t other : others)
    if (other != node)
      visit(other);
  while (!stack_.empty()) {
    uint32_t at = stack_.back();
    stack_.pop_back();
    for (uint32_t producer : nodes_[at].producers) {
      if (producer == node)
        return true;
      visit(producer);
    }
  }
  return false;
}

void KernelGraph::addProducers(uint32_t node, llvm::ArrayRef<uint32_t> producers) {
  uint32_t search = ++searches_;
  for (uint32_t producer : nodes_[node].producers)
    nodes_[producer].mark = search;
  for (uint32_t producer : producers) {
    if (producer == node || nodes_[producer].mark == search)
      continue;
    nodes_[producer].mark = search;
    nodes_[node].producers.push_back(producer);
    nodes_[producer].consumers.push_back(node);
    deepen(node, nodes_[producer].depth + 1);
  }
}

void KernelGraph::deepen(uint32_t node, uint32_t depth) {
  if (nodes_[node].depth >= depth)
    return;
  nodes_[node].depth = depth;
  stack_.assign(1, node);
  while (!stack_.empty()) {
    uint32_t at = stack_.back();
    stack_.pop_back();
    for (uint32_t consumer : nodes_[at].consumers) {
      if (nodes_[consumer].depth > nodes_[at].depth)
        continue;
      nodes_[consumer].depth = nodes_[at].depth + 1;
      stack_.push_back(consumer);
    }
  }
}

std::vector<uint32_t> KernelGraph::sorted(llvm::ArrayRef<uint64_t> keys) const {
  std::vector<size_t> missing(nodes_.size());
  std::priority_queue<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint64_t, uint32_t>>, std::greater<>> ready;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    missing[i] = nodes_[i].producers.size();
    if (missing[i] == 0)
      ready.push({keys[i], i});
  }
  std::vector<uint32_t> order;
  order.reserve(nodes_.size());
  while (!ready.empty()) {
    uint32_t next = ready.top().second;
    ready.pop();
    order.push_back(next);
    for (uint32_t consumer : nodes_[next].consumers)
      if (--missing[consumer] == 0)
        ready.push({keys[consumer], consumer});
  }
  return order;
}

} // namespace stg
