//===- GptTest.cpp - a small GPT end to end against plain loops -------------===//
// The program has the shape of a compiled model: a first unit, two units of one body, a last unit with a tied head and
// the loss. The loops below know nothing of it.
//===----------------------------------------------------------------------===//
#include "CallBuilder.h"
#include "gtest/gtest.h"
#include <array>
#include <cmath>

namespace stg::interp {
namespace {

constexpr int kB = 2, kS = 4, kH = 2, kDh = 3, kD = 6, kF = 8, kV = 7, kLayers = 2;
constexpr double kEps = 1e-5;

class Gpt : public TinyProgram {
public:
  Gpt() {
    InputId ids = programInput("ids", type({{"B", kB}, {"S", kS}}, ElementType::I32));
    InputId target = programInput("target", type({{"B", kB}, {"S", kS}}, ElementType::I32));
    program.weights.push_back({name("wte"), type({{"V", kV}, {"D", kD}}), {}});
    program.weights.push_back({name("wpe"), type({{"S", kS}, {"D", kD}}), {}});
    WeightId wte(0), wpe(1);
    BodyId first = makeFirst(), block = makeBlock(), last = makeLast();
    UnitId previous = unit(first, "first", -1, {ids}, {wte, wpe});
    for (int l = 0; l < kLayers; ++l)
      previous = unit(block, "blocks", l, {UnitValue{previous, 0}});
    UnitId end = unit(last, "last", -1, {UnitValue{previous, 0}, target}, {wte});
    programOutput("logits", end, 0);
  }

private:
  TensorType activation() { return type({{"B", kB}, {"S", kS}, {"D", kD}}); }

  BodyId makeFirst() {
    BodyId id = beginBody("first");
    ValueId ids = input("ids", type({{"B", kB}, {"S", kS}}, ElementType::I32));
    ValueId wte = weight("wte", type({{"V", kV}, {"D", kD}}), false);
    ValueId wpe = weight("wpe", type({{"S", kS}, {"D", kD}}), false);
    ValueId rows = op(OpKind::Gather, {wte, ids}, GatherFields{name("V")});
    output("x", map(MapFn::Add, {rows, wpe}, "x"));
    return id;
  }

  ValueId layernorm(ValueId x, const std::string &path) {
    ValueId g = weight(path + ".g", type({{"D", kD}})), b = weight(path + ".b", type({{"D", kD}}));
    ValueId count = constant(kD);
    ValueId mean = map(MapFn::Div, {reduce(ReduceFn::Sum, x, {"D"}), count});
    ValueId xc = map(MapFn::Sub, {x, mean});
    ValueId variance = map(MapFn::Div, {contract({xc, xc}, {"D"}), count});
    ValueId scale = map(MapFn::Rsqrt, {map(MapFn::Add, {variance, constant(kEps)})});
    return map(MapFn::Add, {map(MapFn::Mul, {xc, scale, g}), b}, path + ".out");
  }

  /// Attention written out: scores, mask, softmax, values.
  ValueId attention(ValueId x) {
    auto project = [&](const char *w, const char *b, const char *value) {
      ValueId weightOp = weight(w, type({{"D", kD}, {"H", kH}, {"Dh", kDh}}));
      ValueId bias = weight(b, type({{"H", kH}, {"Dh", kDh}}));
      return map(MapFn::Add, {contract({x, weightOp}, {"D"}), bias}, value);
    };
    ValueId q = project("attn.wq", "attn.bq", "attn.q");
    auto onKeys = [&](ValueId value) {
      ViewItem rename{names({"S"}), {dim({"T", kS})}, false};
      return op(OpKind::View, {value}, ViewFields{{rename}, {}});
    };
    ValueId k = onKeys(project("attn.wk", "attn.bk", "attn.k")), v = onKeys(project("attn.wv", "attn.bv", "attn.v"));
    ValueId scores = map(MapFn::Div, {contract({q, k}, {"Dh"}), constant(std::sqrt(kDh))});
    ValueId seen = op(OpKind::Masked, {scores}, MaskedFields{{MaskKind::Causal, {}}, name("S"), name("T")});
    ValueId top = op(OpKind::Stop, {reduce(ReduceFn::Max, seen, {"T"})}, StopFields{});
    ValueId weights = map(MapFn::Exp, {map(MapFn::Sub, {seen, top})});
    ValueId p = map(MapFn::Div, {weights, reduce(ReduceFn::Sum, weights, {"T"})}, "attn.p");
    ValueId o = contract({p, v}, {"T"}, "attn.o");
    ValueId wo = weight("attn.wo", type({{"H", kH}, {"Dh", kDh}, {"D", kD}}));
    return contract({o, wo}, {"H", "Dh"});
  }

  BodyId makeBlock() {
    BodyId id = beginBody("block");
    ValueId x = input("x", activation());
    x = map(MapFn::Add, {x, attention(layernorm(x, "norm1"))}, "x");
    ValueId n = layernorm(x, "norm2");
    ValueId up = contract({n, weight("ffn.up.w", type({{"D", kD}, {"F", kF}}))}, {"D"});
    ValueId down = contract({map(MapFn::Gelu, {up}), weight("ffn.down.w", type({{"F", kF}, {"D", kD}}))}, {"F"});
    output("x", map(MapFn::Add, {x, down}, "x'2"));
    return id;
  }

  BodyId makeLast() {
    BodyId id = beginBody("last");
    ValueId x = input("x", activation());
    ValueId target = input("target", type({{"B", kB}, {"S", kS}}, ElementType::I32));
    ValueId wte = weight("head", type({{"V", kV}, {"D", kD}}), false);
    ValueId logits = contract({layernorm(x, "norm_f"), wte}, {"D"}, "logits");
    // Bounds what is made up for `target`.
    body().values[logits.index].type = type({{"B", kB}, {"S", kS}, {"V", kV}});
    ValueId m = reduce(ReduceFn::Max, logits, {"V"});
    ValueId sum = reduce(ReduceFn::Sum, map(MapFn::Exp, {map(MapFn::Sub, {logits, m})}), {"V"});
    ValueId picked = op(OpKind::Gather, {logits, target}, GatherFields{name("V")});
    ValueId nll = map(MapFn::Sub, {map(MapFn::Add, {map(MapFn::Log, {sum}), m}), picked});
    ValueId mean = map(MapFn::Div, {reduce(ReduceFn::Sum, nll, {"B", "S"}), constant(kB * kS)}, "loss");
    output("logits", logits);
    body().losses.push_back(mean);
    return id;
  }
};

/// Weights by name, as plain arrays.
struct Numbers {
  uint64_t seed;
  std::vector<double> operator()(const std::string &name, int count) const {
    std::vector<double> data;
    for (int i = 0; i < count; ++i)
      data.push_back(madeUp(ElementType::F32, seed, name, i, 1));
    return data;
  }
};
using Row = std::array<double, kD>;
using Activation = std::array<std::array<Row, kS>, kB>;

Row layernormLoops(const Row &x, const std::vector<double> &g, const std::vector<double> &b) {
  double mean = 0, variance = 0;
  for (double value : x)
    mean += value / kD;
  for (double value : x)
    variance += (value - mean) * (value - mean) / kD;
  Row y;
  for (int d = 0; d < kD; ++d)
    y[d] = (x[d] - mean) / std::sqrt(variance + kEps) * g[d] + b[d];
  return y;
}

void blockLoops(Activation &x, const Numbers &numbers, const std::string &path) {
  auto g1 = numbers(path + ".norm1.g", kD), b1 = numbers(path + ".norm1.b", kD);
  auto g2 = numbers(path + ".norm2.g", kD), b2 = numbers(path + ".norm2.b", kD);
  std::vector<double> w[3], bias[3];
  const char *letters = "qkv";
  for (int i = 0; i < 3; ++i) {
    w[i] = numbers(path + ".attn.w" + letters[i], kD * kH * kDh);
    bias[i] = numbers(path + ".attn.b" + letters[i], kH * kDh);
  }
  auto wo = numbers(path + ".attn.wo", kH * kDh * kD);
  auto up = numbers(path + ".ffn.up.w", kD * kF), down = numbers(path + ".ffn.down.w", kF * kD);
  for (auto &sequence : x) {
    double qkv[3][kS][kH][kDh];
    for (int s = 0; s < kS; ++s) {
      Row n = layernormLoops(sequence[s], g1, b1);
      for (int i = 0; i < 3; ++i)
        for (int h = 0; h < kH; ++h)
          for (int c = 0; c < kDh; ++c) {
            double sum = bias[i][h * kDh + c];
            for (int d = 0; d < kD; ++d)
              sum += n[d] * w[i][(d * kH + h) * kDh + c];
            qkv[i][s][h][c] = sum;
          }
    }
    for (int s = 0; s < kS; ++s) {
      for (int h = 0; h < kH; ++h) {
        double p[kS], total = 0;
        for (int t = 0; t <= s; ++t) {
          double dot = 0;
          for (int c = 0; c < kDh; ++c)
            dot += qkv[0][s][h][c] * qkv[1][t][h][c];
          total += p[t] = std::exp(dot / std::sqrt(double(kDh)));
        }
        for (int c = 0; c < kDh; ++c) {
          double o = 0;
          for (int t = 0; t <= s; ++t)
            o += p[t] / total * qkv[2][t][h][c];
          for (int d = 0; d < kD; ++d)
            sequence[s][d] += o * wo[(h * kDh + c) * kD + d];
        }
      }
      Row n = layernormLoops(sequence[s], g2, b2);
      for (int f = 0; f < kF; ++f) {
        double hidden = 0;
        for (int d = 0; d < kD; ++d)
          hidden += n[d] * up[d * kF + f];
        hidden *= 0.5 * (1 + std::erf(hidden / std::sqrt(2.0)));
        for (int d = 0; d < kD; ++d)
          sequence[s][d] += hidden * down[f * kD + d];
      }
    }
  }
}

TEST(Gpt, AgreesWithPlainLoops) {
  Gpt gpt;
  gpt.inputs.seed = 17;
  InterpResult result = interpret(gpt.program, gpt.inputs, KeepValues::All);

  Numbers numbers{17};
  auto wte = numbers("wte", kV * kD), wpe = numbers("wpe", kS * kD);
  Activation x;
  int ids[kB][kS], targets[kB][kS];
  for (int b = 0; b < kB; ++b)
    for (int s = 0; s < kS; ++s) {
      ids[b][s] = static_cast<int>(madeUp(ElementType::I32, 17, "ids", b * kS + s, kV));
      targets[b][s] = static_cast<int>(madeUp(ElementType::I32, 17, "target", b * kS + s, kV));
      for (int d = 0; d < kD; ++d)
        x[b][s][d] = wte[ids[b][s] * kD + d] + wpe[s * kD + d];
    }
  for (int l = 0; l < kLayers; ++l)
    blockLoops(x, numbers, "blocks[" + std::to_string(l) + "]");

  auto g = numbers("last.norm_f.g", kD), b = numbers("last.norm_f.b", kD);
  const Tensor *logits = result.output("logits");
  ASSERT_TRUE(logits);
  double loss = 0;
  for (int i = 0; i < kB; ++i)
    for (int s = 0; s < kS; ++s) {
      Row n = layernormLoops(x[i][s], g, b);
      double row[kV], total = 0;
      for (int v = 0; v < kV; ++v) {
        row[v] = 0;
        for (int d = 0; d < kD; ++d)
          row[v] += n[d] * wte[v * kD + d];
        total += std::exp(row[v]);
        EXPECT_NEAR(logits->data[(i * kS + s) * kV + v], row[v], 1e-9);
      }
      loss += -std::log(std::exp(row[targets[i][s]]) / total) / (kB * kS);
    }
  EXPECT_NEAR(result.loss, loss, 1e-10);
  ASSERT_EQ(result.losses.size(), 1u);
  EXPECT_EQ(result.losses[0].name, "last.loss");
  ASSERT_TRUE(result.unitValue("blocks[1].x'2"));
  EXPECT_NEAR(result.unitValue("blocks[1].x'2")->data[(1 * kS + 3) * kD + 5], x[1][3][5], 1e-10);
}

TEST(Gpt, AttentionWrittenOutEqualsTheReferenceOfAttend) {
  Gpt gpt;
  InterpResult result = interpret(gpt.program, gpt.inputs, KeepValues::All);
  TinyProgram fused;
  auto given = [&](const char *name) {
    return fused.input(name, renamed(*result.unitValue(std::string("blocks[1].attn.") + name),
                                     {fused.name("B"), fused.name("S"), fused.name("H"), fused.name("Dh")}));
  };
  std::vector<ValueId> operands = {given("q"), given("k"), given("v")};
  CallFields call = makeCall(
      fused, {"attend",
              {{"b", "B", kB}, {"s", "S", kS}, {"t", "S", kS}, {"g", "H", kH}, {"c", "Dh", kDh}, {"d", "Dh", kDh}},
              {{"b", "s", "g", "c"}, {"b", "t", "g", "c"}, {"b", "t", "g", "d"}},
              {{"b", "s", "g", "d"}, {"b", "s", "g"}}});
  fused.output("o", fused.op(OpKind::Call, operands, call, "o", 2));
  Tensor expected = *result.unitValue("blocks[1].attn.o");
  expected = renamed(expected, {fused.name("B"), fused.name("S"), fused.name("H"), fused.name("Dh")});
  EXPECT_LT(largestDifference(*fused.run().output("o"), expected), 1e-12);
}

} // namespace
} // namespace stg::interp
