//===- ReferenceExperts.cpp - tables, routing, orthogonalisation ----------===//
#include "ReferenceTable.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace stg::interp {

std::vector<Tensor> lookup(const ReferenceCall &call) {
  return {gather(call.operand(1), call.operand(0), call.dim("v"))};
}

std::vector<Tensor> pick(const ReferenceCall &call) {
  return {gather(call.operand(0), call.operand(1), call.dim("v"))};
}

std::vector<Tensor> bag(const ReferenceCall &call) {
  Tensor rows = gather(call.operand(1), call.operand(0), call.dim("m"));
  return {reduce(ReduceFn::Sum, rows, {call.dim("p")}, rows.element)};
}

std::vector<Tensor> topk(const ReferenceCall &call) {
  const Tensor &score = call.operand(0);
  NameId e = call.dim("e"), k = call.dim("k");
  int64_t experts = score.sizeOf(e), wanted = call.size("k");
  requireWhole(score.dim(e), "topk");
  auto groups = static_cast<int64_t>(call.number("groups", 1));
  auto topGroups = static_cast<int64_t>(call.number("top_groups", static_cast<double>(groups)));
  auto groupBest = static_cast<int64_t>(call.number("group_best", 1));
  const Tensor *bias = call.operandCount() > 1 ? &call.operand(1) : nullptr;
  if (groups < 1 || experts % groups != 0)
    throw InterpFault("topk: " + std::to_string(experts) + " experts are no " + std::to_string(groups) + " groups");
  int64_t groupSize = experts / groups;
  if (groupBest < 1 || groupBest > groupSize)
    throw InterpFault("topk: groups of " + std::to_string(groupSize) + " have no " + std::to_string(groupBest) +
                      " best");
  if (wanted > std::min(topGroups, groups) * groupSize)
    throw InterpFault("topk: fewer candidates than choices");
  Tensor choice = call.emptyResult(0), p = call.emptyResult(1);
  for (AlignedWalk walk(without(score.dims, e), {}); !walk.done(); walk.next()) {
    Index at = walk.index();
    std::vector<double> scores; // what the choice goes by
    for (int64_t i = 0; i < experts; ++i) {
      at[e] = i;
      scores.push_back(score.at(at) + (bias ? bias->at(at) : 0));
    }
    auto best = [&](int64_t group) {
      std::vector<double> members(scores.begin() + group * groupSize, scores.begin() + (group + 1) * groupSize);
      std::sort(members.begin(), members.end(), std::greater<>());
      return std::accumulate(members.begin(), members.begin() + groupBest, 0.0);
    };
    std::vector<int64_t> groupOrder(static_cast<size_t>(groups));
    std::iota(groupOrder.begin(), groupOrder.end(), 0);
    std::stable_sort(groupOrder.begin(), groupOrder.end(), [&](int64_t x, int64_t y) { return best(x) > best(y); });
    groupOrder.resize(static_cast<size_t>(std::min(topGroups, groups)));
    std::vector<int64_t> candidates;
    for (int64_t i = 0; i < experts; ++i)
      if (llvm::is_contained(groupOrder, i / groupSize))
        candidates.push_back(i);
    std::stable_sort(candidates.begin(), candidates.end(), [&](int64_t x, int64_t y) {
      return scores[static_cast<size_t>(x)] > scores[static_cast<size_t>(y)];
    });
    for (int64_t i = 0; i < wanted; ++i) {
      at[k] = i;
      int64_t expert = candidates[static_cast<size_t>(i)];
      choice.at(at) = static_cast<double>(expert);
      at[e] = expert;
      p.at(at) = score.at(at);
    }
  }
  return {std::move(choice), std::move(p)};
}

namespace {

/// Calls `visit(at)` with `at` on the token, the choice, its expert and its slot, for every choice that gets one.
template <class Visit>
void forEachSlot(const ReferenceCall &call, const Tensor &choice, int64_t experts, int64_t slots, Visit visit) {
  NameId k = call.dim("k"), e = call.dim("e"), c = call.dim("c");
  // Token-major, choices innermost, however the operand is stored.
  TensorDims order = without(choice.dims, k);
  order.push_back({k, choice.sizeOf(k)});
  std::vector<int64_t> used(static_cast<size_t>(experts), 0);
  for (AlignedWalk walk(order, {&choice}); !walk.done(); walk.next()) {
    auto expert = static_cast<int64_t>(choice.data[walk.offset(0)]);
    if (expert < 0 || expert >= experts)
      throw InterpFault("expert " + std::to_string(expert) + " of " + std::to_string(experts));
    int64_t slot = used[static_cast<size_t>(expert)]++;
    if (slot >= slots)
      continue;
    Index at = walk.index();
    at[e] = expert;
    at[c] = slot;
    visit(at);
  }
}

const Tensor *probabilities(const ReferenceCall &call) { return call.findOperand(2, {"k"}, {"d", "e", "c"}); }

} // namespace

std::vector<Tensor> dispatch(const ReferenceCall &call) {
  const Tensor &x = call.operand(0);
  const Tensor *p = probabilities(call);
  NameId d = call.dim("d");
  Tensor xe = call.emptyResult(0);
  requireWhole(xe.dim(call.dim("e")), "dispatch");
  forEachSlot(call, call.operand(1), xe.sizeOf(call.dim("e")), xe.sizeOf(call.dim("c")), [&](Index at) {
    for (int64_t i = 0; i < x.sizeOf(d); ++i) {
      at[d] = i;
      xe.at(at) = x.at(at) * (p ? p->at(at) : 1);
    }
  });
  return {std::move(xe)};
}

std::vector<Tensor> combine(const ReferenceCall &call) {
  const Tensor &ye = call.operand(0);
  const Tensor *p = probabilities(call);
  NameId d = call.dim("d");
  Tensor y = call.emptyResult(0);
  requireWhole(ye.dim(call.dim("e")), "combine");
  forEachSlot(call, call.operand(1), ye.sizeOf(call.dim("e")), ye.sizeOf(call.dim("c")), [&](Index at) {
    for (int64_t i = 0; i < ye.sizeOf(d); ++i) {
      at[d] = i;
      y.at(at) += ye.at(at) * (p ? p->at(at) : 1);
    }
  });
  return {std::move(y)};
}

std::vector<Tensor> combineScores(const ReferenceCall &call) {
  const Tensor &dy = call.operand(0), &ye = call.operand(1);
  NameId d = call.dim("d");
  Tensor dp = call.emptyResult(0);
  requireWhole(ye.dim(call.dim("e")), "combine_dp");
  forEachSlot(call, call.operand(2), ye.sizeOf(call.dim("e")), ye.sizeOf(call.dim("c")), [&](Index at) {
    for (int64_t i = 0; i < ye.sizeOf(d); ++i) {
      at[d] = i;
      dp.at(at) += dy.at(at) * ye.at(at);
    }
  });
  return {std::move(dp)};
}

std::vector<Tensor> dispatchScores(const ReferenceCall &call) {
  const Tensor &p = call.operand(0);
  Tensor pe = call.emptyResult(0);
  requireWhole(pe.dim(call.dim("e")), "dispatch_scores");
  forEachSlot(call, call.operand(1), pe.sizeOf(call.dim("e")), pe.sizeOf(call.dim("c")),
              [&](const Index &at) { pe.at(at) = p.at(at); });
  return {std::move(pe)};
}

std::vector<Tensor> collectScores(const ReferenceCall &call) {
  const Tensor &pe = call.operand(0);
  Tensor p = call.emptyResult(0);
  requireWhole(pe.dim(call.dim("e")), "collect_scores");
  forEachSlot(call, call.operand(1), pe.sizeOf(call.dim("e")), pe.sizeOf(call.dim("c")),
              [&](const Index &at) { p.at(at) = pe.at(at); });
  return {std::move(p)};
}

std::vector<Tensor> expertCounts(const ReferenceCall &call) {
  const Tensor &choice = call.operand(0);
  Tensor counts = call.emptyResult(0);
  Index at;
  at[call.dim("p")] = 0;
  for (double expert : choice.data) {
    at[call.dim("e")] = static_cast<int64_t>(expert);
    counts.at(at) += 1;
  }
  return {std::move(counts)};
}

std::vector<Tensor> arrange(const ReferenceCall &call) {
  Tensor order = call.emptyResult(1);
  NameId c = call.dim("c");
  for (AlignedWalk walk(order.dims, {}); !walk.done(); walk.next())
    order.at(walk.index()) = static_cast<double>(walk.index()[c]);
  return {call.operand(1), std::move(order)};
}

std::vector<Tensor> arrangeBack(const ReferenceCall &call) { return {call.operand(0)}; }

std::vector<Tensor> newtonSchulz(const ReferenceCall &call) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  NameId i = call.dim("i"), j = call.dim("j"), other = call.dim("newton_schulz.i");
  Tensor x = permuted(call.operand(0), {i, j});
  requireWhole(x.dim(i), "newton_schulz");
  requireWhole(x.dim(j), "newton_schulz");
  double square = 0;
  for (double value : x.data)
    square += value * value;
  for (double &value : x.data)
    value /= std::sqrt(square) + 1e-7;
  auto steps = static_cast<int64_t>(call.number("steps", 5));
  for (int64_t step = 0; step < steps; ++step) {
    // X <- a X + (b A + c A A) X with A = X X^T.
    Tensor xt = renamed(x, {other, j});
    Tensor gram = contract({x, xt}, {j}, x.element);
    Tensor product = contract({gram, xt}, {other}, x.element);
    Tensor twice = contract({gram, renamed(product, {other, j})}, {other}, x.element);
    for (size_t n = 0; n < x.data.size(); ++n)
      x.data[n] = kA * x.data[n] + kB * product.data[n] + kC * twice.data[n];
  }
  return {std::move(x)};
}

} // namespace stg::interp
