//===- ReferenceAttention.cpp ---------------------------------------------===//
#include "ReferenceTable.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace stg::interp {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The logits of one query against the keys, and what they come from.
class Attention {
public:
  explicit Attention(const ReferenceCall &call)
      : s(call.dim("s")), t(call.dim("t")), c(call.dim("c")), q(call.operand(0)), k(call.operand(1)),
        v(call.operand(2)), bias(call.findOperand(3, {"t"}, {"c", "d"})), mask(call.mask("mask", MaskKind::Causal)),
        keys(k.sizeOf(t)), width(q.sizeOf(c)), scale(call.number("scale", 1 / std::sqrt(static_cast<double>(width)))),
        softcap(call.number("softcap", 0)) {
    // An op of two dims `c` for keys and values (`v[b, t, g, c]`) calls both c.
    valueDim = v.has(call.dim("d")) ? call.dim("d") : c;
    values = v.sizeOf(valueDim);
    requireWhole(k.dim(t), "attend");
    requireWhole(q.dim(c), "attend");
  }

  bool sees(const Index &at, int64_t key) const {
    const TensorDim &rows = q.dim(s);
    return mask.sees(rows.position(*at.find(s)), key, rows.wholeSize(), keys);
  }
  /// Of the query and key that `at` names.
  double product(Index at) const {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) {
      at[c] = i;
      sum += q.at(at) * k.at(at);
    }
    return sum * scale;
  }
  double logit(const Index &at) const {
    double value = product(at);
    if (softcap > 0)
      value = softcap * std::tanh(value / softcap);
    return bias ? value + bias->at(at) : value;
  }

  NameId s, t, c, valueDim;
  const Tensor &q, &k, &v;
  const Tensor *bias;
  Visibility mask;
  int64_t keys, width, values = 0;
  double scale, softcap;
};

/// One logit per head that joins its softmax without a value.
const Tensor *findSink(const ReferenceCall &call) { return call.findOperand(3, {}, {"s", "t", "c", "d"}); }

} // namespace

std::vector<Tensor> attend(const ReferenceCall &call) {
  Attention attention(call);
  const Tensor *sink = findSink(call);
  Tensor o = call.emptyResult(0);
  TensorDims rows = without(o.dims, attention.valueDim);
  Tensor lse = Tensor::filled(ElementType::F32, rows);
  for (AlignedWalk walk(rows, {}); !walk.done(); walk.next()) {
    Index at = walk.index();
    std::vector<double> logits(static_cast<size_t>(attention.keys), -kInfinity);
    double largest = sink ? sink->at(at) : -kInfinity;
    for (int64_t j = 0; j < attention.keys; ++j) {
      if (!attention.sees(at, j))
        continue;
      at[attention.t] = j;
      logits[static_cast<size_t>(j)] = attention.logit(at);
      largest = std::max(largest, logits[static_cast<size_t>(j)]);
    }
    if (largest == -kInfinity) { // a query that sees nothing
      lse.at(at) = -kInfinity;
      continue;
    }
    double denominator = sink ? std::exp(sink->at(at) - largest) : 0;
    for (double logit : logits)
      denominator += std::exp(logit - largest);
    lse.at(at) = largest + std::log(denominator);
    for (int64_t i = 0; i < attention.values; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < attention.keys; ++j) {
        at[attention.t] = j;
        at[attention.valueDim] = i;
        sum += std::exp(logits[static_cast<size_t>(j)] - largest) * attention.v.at(at);
      }
      at[attention.valueDim] = i;
      o.at(at) = sum / denominator;
    }
  }
  return {std::move(o), std::move(lse)};
}

std::vector<Tensor> attendGradient(const ReferenceCall &call) {
  Attention attention(call);
  const Tensor *sink = findSink(call);
  size_t next = 3u + (attention.bias != nullptr) + (sink != nullptr);
  const Tensor &o = call.operand(next), &lse = call.operand(next + 1), &dOut = call.operand(next + 2);
  NameId valueDim = attention.valueDim;
  requireWhole(attention.v.dim(valueDim), "attend_bwd");
  std::vector<Tensor> results;
  for (size_t i = 0; i < call.resultCount(); ++i)
    results.push_back(call.emptyResult(i));
  if (results.size() < 3)
    throw InterpFault("attend_bwd gives dq, dk and dv");
  Tensor &dq = results[0], &dk = results[1], &dv = results[2];
  // `dsink` and `dbias` in any order, and there or not, with or without a sink or bias.
  auto find = [&](bool ofBias) {
    auto found = std::find_if(results.begin() + 3, results.end(),
                              [&](const Tensor &result) { return result.has(attention.s) == ofBias; });
    return found == results.end() ? nullptr : &*found;
  };
  Tensor *dbias = attention.bias ? find(true) : nullptr, *dsink = sink ? find(false) : nullptr;
  for (AlignedWalk walk(without(o.dims, valueDim), {}); !walk.done(); walk.next()) {
    Index at = walk.index();
    double along = 0; // what all probabilities lose together, as their sum is 1
    for (int64_t i = 0; i < attention.values; ++i) {
      at[valueDim] = i;
      along += dOut.at(at) * o.at(at);
    }
    if (dsink)
      dsink->at(at) -= std::exp(sink->at(at) - lse.at(at)) * along;
    for (int64_t j = 0; j < attention.keys; ++j) {
      if (!attention.sees(at, j))
        continue;
      at[attention.t] = j;
      double probability = std::exp(attention.logit(at) - lse.at(at)), change = 0;
      for (int64_t i = 0; i < attention.values; ++i) {
        at[valueDim] = i;
        change += dOut.at(at) * attention.v.at(at);
        dv.at(at) += probability * dOut.at(at);
      }
      double slope = probability * (change - along);
      if (dbias)
        dbias->at(at) += slope;
      if (attention.softcap > 0) {
        double bent = std::tanh(attention.product(at) / attention.softcap);
        slope *= 1 - bent * bent;
      }
      for (int64_t i = 0; i < attention.width; ++i) {
        at[attention.c] = i;
        dq.at(at) += slope * attention.scale * attention.k.at(at);
        dk.at(at) += slope * attention.scale * attention.q.at(at);
      }
    }
  }
  return results;
}

/// Turns of each pair of channels per position, in radians, as Hugging Face's modeling_rope_utils.py works them out.
static std::vector<double> rotaryFrequencies(const ReferenceCall &call, int64_t width) {
  const double pi = std::acos(-1.0), base = call.number("base", 10000), factor = call.number("factor", 1);
  const double original = call.number("original", 8192), slow = call.number("slow", 1), fast = call.number("fast", 32);
  const std::string scaling = call.text("scaling", "none");
  // The channel whose pair turns `turns` times in the original length.
  auto channel = [&](double turns) {
    double found = static_cast<double>(width) * std::log(original / (turns * 2 * pi)) / (2 * std::log(base));
    return !call.flag("truncate", true) ? found : turns == fast ? std::floor(found) : std::ceil(found);
  };
  std::vector<double> frequencies;
  for (int64_t i = 0; i < width / 2; ++i) {
    double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    double length = 2 * pi / frequency, slower = 0; // how far it is slowed: 0 not, 1 wholly
    if (scaling == "linear")
      slower = 1;
    else if (scaling == "llama3")
      slower = length < original / fast   ? 0
               : length > original / slow ? 1
                                          : 1 - (original / length - slow) / (fast - slow);
    else if (scaling == "yarn") {
      double first = std::max(channel(fast), 0.0), last = std::min(channel(slow), static_cast<double>(width - 1));
      slower = std::clamp((static_cast<double>(i) - first) / (first == last ? 0.001 : last - first), 0.0, 1.0);
    }
    frequencies.push_back((1 - slower) * frequency + slower * frequency / factor);
  }
  return frequencies;
}

std::vector<Tensor> rotary(const ReferenceCall &call) {
  const Tensor &x = call.operand(0);
  // Leading dims of `x[..., c]` come under the caller's names.
  NameId c = call.dim("c"), s = x.has(call.dim("s")) ? call.dim("s") : call.dim("S");
  int64_t width = x.sizeOf(c), half = width / 2;
  double start = call.number("start", 0), gain = call.number("gain", 1);
  double direction = call.flag("inverse", false) ? -1 : 1;
  requireWhole(x.dim(c), "rotary");
  if (width % 2 != 0)
    throw InterpFault("rotary needs an even number of channels");
  const std::vector<double> frequencies = rotaryFrequencies(call, width);
  Tensor y = x;
  for (AlignedWalk walk(without(x.dims, c), {}); !walk.done(); walk.next()) {
    Index first = walk.index();
    const int64_t *position = first.find(s);
    if (!position)
      throw InterpFault("rotary needs a dim `S` of positions");
    Index second = first;
    for (int64_t i = 0; i < half; ++i) {
      double angle =
          direction * (start + static_cast<double>(x.dim(s).position(*position))) * frequencies[static_cast<size_t>(i)];
      first[c] = i;
      second[c] = i + half;
      double a = x.at(first), b = x.at(second);
      y.at(first) = gain * (a * std::cos(angle) - b * std::sin(angle));
      y.at(second) = gain * (b * std::cos(angle) + a * std::sin(angle));
    }
  }
  return {std::move(y)};
}

} // namespace stg::interp
