//===- AlternatingOrders.cpp - schedules in which F and B take turns --------===//
// GPipe, 1F1B, interleaved and the zero-bubble schedules of 2401.10241 are one rule with four parts: the order in which
// a rank does its forwards, that of its backwards, how many forwards come before the first backward (warm-up), and by
// how many backwards the weight gradients lag. After the warm-up a forward and a backward take turns until forwards run
// out.
//
// Interleaved schedules take micro-batches in groups: a chunk does the whole group before the next chunk has its turn,
// and in backward the chunks run from the last to the first.
//===----------------------------------------------------------------------===//
#include "RankOrders.h"
#include <algorithm>

namespace stg {

namespace {

struct AlternatingOrder {
  std::vector<Action> forwards;
  /// Either B throughout or I throughout, as many as forwards.
  std::vector<Action> backwards;
  size_t warmup = 0;
  /// W of a backward follows this many backwards after it; none if the backwards are B.
  std::optional<size_t> weightLag = std::nullopt;
};

ActionList alternate(const AlternatingOrder &order) {
  size_t count = order.forwards.size();
  size_t warmup = std::min(order.warmup, count);
  ActionList actions;
  auto addWeightGrad = [&](size_t i) {
    Action inputGrad = order.backwards[i];
    actions.push_back({{ActionKind::WeightGrad, inputGrad.stage, inputGrad.microBatch}});
  };
  for (size_t i = 0; i < warmup; ++i)
    actions.push_back({order.forwards[i]});
  for (size_t i = 0; i < count; ++i) {
    if (warmup + i < count)
      actions.push_back({order.forwards[warmup + i]});
    actions.push_back({order.backwards[i]});
    if (order.weightLag && i >= *order.weightLag)
      addWeightGrad(i - *order.weightLag);
  }
  if (order.weightLag)
    for (size_t i = count - std::min(*order.weightLag, count); i < count; ++i)
      addWeightGrad(i);
  return actions;
}

/// The forwards and backwards of a rank, by groups of micro-batches and chunks.
AlternatingOrder byGroups(const ScheduleSizes &sizes, uint32_t rank, uint32_t group, ActionKind backward) {
  AlternatingOrder order;
  for (uint32_t first = 0; first < sizes.microBatches; first += group) {
    uint32_t end = std::min(first + group, sizes.microBatches);
    for (uint32_t turn = 0; turn < sizes.chunks; ++turn)
      for (uint32_t microBatch = first; microBatch < end; ++microBatch) {
        uint32_t lastTurn = sizes.chunks - 1;
        order.forwards.push_back({ActionKind::Forward, turn * sizes.ranks + rank, microBatch});
        order.backwards.push_back({backward, (lastTurn - turn) * sizes.ranks + rank, microBatch});
      }
  }
  return order;
}

/// Forwards and backwards of a rank with one stage.
AlternatingOrder oneStage(const ScheduleSizes &sizes, uint32_t rank, ActionKind backward) {
  return byGroups(sizes, rank, sizes.microBatches, backward);
}

/// How many ranks come after this one: a gradient takes as many steps to reach it.
uint32_t ranksBehind(const ScheduleSizes &sizes, uint32_t rank) { return sizes.ranks - 1 - rank; }

} // namespace

ActionList gpipeOrder(const ScheduleSizes &sizes, uint32_t rank) {
  AlternatingOrder order = oneStage(sizes, rank, ActionKind::Backward);
  order.warmup = sizes.microBatches;
  return alternate(order);
}

ActionList oneForwardOneBackwardOrder(const ScheduleSizes &sizes, uint32_t rank) {
  AlternatingOrder order = oneStage(sizes, rank, ActionKind::Backward);
  order.warmup = ranksBehind(sizes, rank);
  return alternate(order);
}

ActionList interleavedOrder(const ScheduleSizes &sizes, uint32_t rank) {
  // Megatron-LM takes one chunk for no interleaving (arguments.py).
  if (sizes.chunks == 1)
    return oneForwardOneBackwardOrder(sizes, rank);
  uint32_t group = sizes.group.value_or(sizes.ranks);
  AlternatingOrder order = byGroups(sizes, rank, group, ActionKind::Backward);
  order.warmup = size_t{sizes.chunks - 1} * group + 2 * ranksBehind(sizes, rank);
  return alternate(order);
}

ActionList interleavedZeroBubbleOrder(const ScheduleSizes &sizes, uint32_t rank) {
  uint32_t rounds = std::max(1u, sizes.microBatches / sizes.ranks);
  uint32_t group = sizes.microBatches / rounds;
  AlternatingOrder order = byGroups(sizes, rank, group, ActionKind::InputGrad);
  order.warmup = size_t{sizes.chunks - 1} * group + ranksBehind(sizes, rank);
  order.weightLag = rank;
  return alternate(order);
}

ActionList zeroBubbleH1Order(const ScheduleSizes &sizes, uint32_t rank) {
  AlternatingOrder order = oneStage(sizes, rank, ActionKind::InputGrad);
  order.warmup = ranksBehind(sizes, rank);
  order.weightLag = rank;
  return alternate(order);
}

ActionList zeroBubbleH2Order(const ScheduleSizes &sizes, uint32_t rank) {
  AlternatingOrder order = oneStage(sizes, rank, ActionKind::InputGrad);
  order.warmup = 2 * ranksBehind(sizes, rank);
  order.weightLag = 2 * rank;
  return alternate(order);
}

} // namespace stg
