//===- ReferenceScans.cpp - convolutions and scans along the sequence -----===//
#include "ReferenceTable.h"
#include <cmath>

namespace stg::interp {

std::vector<Tensor> conv1d(const ReferenceCall &call) {
  const Tensor &x = call.operand(0), &w = call.operand(1);
  const Tensor *bias = call.findOperand(2, {"i"}, {"s", "k"});
  NameId s = call.dim("s"), k = call.dim("k");
  int64_t taps = w.sizeOf(k);
  requireWhole(x.dim(s), "conv1d");
  requireWhole(w.dim(k), "conv1d");
  Tensor y = Tensor::filled(x.element, x.dims);
  for (AlignedWalk walk(x.dims, {}); !walk.done(); walk.next()) {
    Index at = walk.index(), from = at;
    double sum = bias ? bias->at(at) : 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      from[k] = tap;
      from[s] = *at.find(s) - (taps - 1) + tap;
      if (*from.find(s) >= 0)
        sum += w.at(from) * x.at(from);
    }
    y.at(at) = sum;
  }
  return {std::move(y)};
}

namespace {

/// h_t = exp(dt a) h_(t-1) + dt B_t x_t, y_t = C_t h_t + d x_t, h over `stateDim`: the two scans differ only in which
/// operand has which dims.
std::vector<Tensor> scan(const ReferenceCall &call) {
  const Tensor &x = call.operand(0), &dt = call.operand(1), &a = call.operand(2), &bt = call.operand(3),
               &ct = call.operand(4);
  bool hasSkip = call.operandCount() > 5;
  NameId s = call.dim("s"), n = call.dim("n");
  int64_t steps = x.sizeOf(s), states = bt.sizeOf(n);
  requireWhole(x.dim(s), "a scan");
  requireWhole(bt.dim(n), "a scan");
  Tensor y = Tensor::filled(x.element, x.dims);
  for (AlignedWalk walk(without(x.dims, s), {}); !walk.done(); walk.next()) {
    Index at = walk.index();
    std::vector<double> h(static_cast<size_t>(states), 0);
    for (int64_t step = 0; step < steps; ++step) {
      at[s] = step;
      double sum = hasSkip ? call.operand(5).at(at) * x.at(at) : 0;
      for (int64_t i = 0; i < states; ++i) {
        at[n] = i;
        double &state = h[static_cast<size_t>(i)];
        state = std::exp(dt.at(at) * a.at(at)) * state + dt.at(at) * bt.at(at) * x.at(at);
        sum += ct.at(at) * state;
      }
      y.at(at) = sum;
    }
  }
  return {std::move(y)};
}

} // namespace

std::vector<Tensor> selectiveScan(const ReferenceCall &call) { return scan(call); }
std::vector<Tensor> stateSpaceDual(const ReferenceCall &call) { return scan(call); }

} // namespace stg::interp
