//===- ReferenceAttention.cpp ---------------------------------------------===//
#include "ReferenceTable.h"
#include <cmath>
#include <limits>

namespace stg::interp {

std::vector<Tensor> attend(const ReferenceCall &call) {
  const Tensor &q = call.operand(0), &k = call.operand(1), &v = call.operand(2);
  NameId s = call.dim("s"), t = call.dim("t"), c = call.dim("c"), d = call.dim("d");
  // An op of two dims `c` for keys and values (`v[b, t, g, c]`) calls both c.
  NameId valueDim = v.has(d) ? d : c;
  const Tensor *bias = call.findOperand(3, {"t"}, {"c", "d"});
  const Tensor *sink = call.findOperand(3, {}, {"s", "t", "c", "d"});
  Visibility mask = call.mask("mask", MaskKind::Causal);
  int64_t queries = q.sizeOf(s), keys = k.sizeOf(t), width = q.sizeOf(c), values = v.sizeOf(valueDim);
  double scale = call.number("scale", 1 / std::sqrt(static_cast<double>(width)));
  double softcap = call.number("softcap", 0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();

  Tensor o = call.emptyResult(0);
  TensorDims rows = without(o.dims, valueDim);
  Tensor lse = Tensor::filled(ElementType::F32, rows);
  for (AlignedWalk walk(rows, {}); !walk.done(); walk.next()) {
    Index at = walk.index();
    std::vector<double> logits(static_cast<size_t>(keys), -kInfinity);
    double largest = sink ? sink->at(at) : -kInfinity;
    for (int64_t j = 0; j < keys; ++j) {
      if (!mask.sees(*at.find(s), j, queries, keys))
        continue;
      at[t] = j;
      double logit = 0;
      for (int64_t i = 0; i < width; ++i) {
        at[c] = i;
        logit += q.at(at) * k.at(at);
      }
      logit *= scale;
      if (softcap > 0)
        logit = softcap * std::tanh(logit / softcap);
      if (bias)
        logit += bias->at(at);
      logits[static_cast<size_t>(j)] = logit;
      largest = std::max(largest, logit);
    }
    if (largest == -kInfinity) { // a query that sees nothing
      lse.at(at) = -kInfinity;
      continue;
    }
    double denominator = sink ? std::exp(sink->at(at) - largest) : 0;
    for (double logit : logits)
      denominator += std::exp(logit - largest);
    lse.at(at) = largest + std::log(denominator);
    for (int64_t i = 0; i < values; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        at[t] = j;
        at[valueDim] = i;
        sum += std::exp(logits[static_cast<size_t>(j)] - largest) * v.at(at);
      }
      at[valueDim] = i;
      o.at(at) = sum / denominator;
    }
  }
  return {std::move(o), std::move(lse)};
}

std::vector<Tensor> rotary(const ReferenceCall &call) {
  const Tensor &x = call.operand(0);
  // Leading dims of `x[..., c]` come under the caller's names.
  NameId c = call.dim("c"), s = x.has(call.dim("s")) ? call.dim("s") : call.dim("S");
  int64_t width = x.sizeOf(c), half = width / 2;
  double base = call.number("base", 10000), start = call.number("start", 0);
  double direction = call.flag("inverse", false) ? -1 : 1;
  if (width % 2 != 0)
    throw InterpFault("rotary needs an even number of channels");
  Tensor y = x;
  for (AlignedWalk walk(without(x.dims, c), {}); !walk.done(); walk.next()) {
    Index first = walk.index();
    const int64_t *position = first.find(s);
    if (!position)
      throw InterpFault("rotary needs a dim `S` of positions");
    Index second = first;
    for (int64_t i = 0; i < half; ++i) {
      double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      double angle = direction * (start + static_cast<double>(*position)) * frequency;
      first[c] = i;
      second[c] = i + half;
      double a = x.at(first), b = x.at(second);
      y.at(first) = a * std::cos(angle) - b * std::sin(angle);
      y.at(second) = b * std::cos(angle) + a * std::sin(angle);
    }
  }
  return {std::move(y)};
}

} // namespace stg::interp
