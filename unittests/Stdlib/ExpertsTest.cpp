//===- ExpertsTest.cpp - std.moe against what it stands for ------------------===//
#include "StgText.h"
#include "stg/Analysis/ActiveParameters.h"
#include "gtest/gtest.h"

namespace stg::stdlib {
namespace {

using interp::InterpInputs;
using interp::InterpResult;
using interp::largestDifference;
using interp::Tensor;

/// Both layers of a program under labels `a` and `b` with the same numbers.
void expectSameLayers(const std::string &text) {
  std::optional<Program> program = compileText("use std.{ffn, moe}\n" + text);
  ASSERT_TRUE(program);
  InterpInputs inputs;
  giveEqualWeights(*program, {"a.", "b."}, inputs);
  InterpResult result = interp::interpret(*program, inputs);
  const Tensor *a = result.output("a"), *b = result.output("b");
  ASSERT_TRUE(a && b);
  EXPECT_LT(largestDifference(*a, *b), 1e-12);
  double sum = 0;
  for (double value : a->data)
    sum += std::abs(value);
  EXPECT_GT(sum, 0.1);
}

// Every token goes to every expert: no dispatch is needed to say what that means.
TEST(Moe, OfAllExpertsIsTheirWeightedSum) {
  expectSameLayers(R"(
layer all(x[B, S, D]; E, F) -> [B, S, D] {
  weight w_r[D, E]
  p[B, S, E]: f32 = softmax(E) (sum(D) x * w_r)
  y = each(E) experts: swiglu(x; F)
  return sum(E) y * p
}
model m(B = 2, S = 3, D = 4, E = 3, F = 5) {
  input x[B, S, D]
  a = a: moe(x; E, top = 3, expert = swiglu(F))
  b = b: all(x; E, F)
  output a, b
}
)");
}

// With scores that sum to 1 and one expert its score does not matter.
TEST(Moe, OfOneExpertIsTheExpert) {
  expectSameLayers(R"(
layer expert(x[B, S, D]; F) -> [B, S, D] {
  let E = 1
  weight w_gate[E, D, F], w_up[E, D, F], w_down[E, F, D]
  g = sum(D) x * w_gate
  u = sum(D) x * w_up
  h = silu(g) * u
  return sum(E, F) h * w_down
}
layer one(x[B, S, D]; F) -> [B, S, D] {
  return experts: expert(x; F)
}
model m(B = 2, S = 3, D = 4, F = 5) {
  let E = 1
  input x[B, S, D]
  a = a: moe(x; E, top = 1, expert = swiglu(F), renorm = true, router_bias = true)
  b = b: one(x; F)
  output a, b
}
)");
}

// The first slots go to the first tokens; the others keep what the shared expert gives them.
TEST(Moe, TokensWithoutASlotAreDropped) {
  std::optional<Program> program = compileText(R"(
use std.{ffn, moe}
model m(B = 1, S = 8, D = 4, E = 2, F = 5) {
  input x[B, S, D]
  y = a: moe(x; E, top = 1, expert = swiglu(F), slack = 0.25)
  output y
}
)");
  ASSERT_TRUE(program);
  InterpResult result = interp::interpret(*program, {});
  const Tensor *y = result.output("y");
  ASSERT_TRUE(y);
  int kept = 0;
  for (size_t s = 0; s < 8; ++s)
    kept += y->data[4 * s] != 0;
  EXPECT_LE(kept, 2) << "one slot of each expert";
  EXPECT_GE(kept, 1);
}

// Even loads whatever the scores are, and softmaxed scores sum to 1.
TEST(Moe, EvenLoadsHaveTheLossOne) {
  std::optional<Program> program = compileText(R"(
use std.{ffn, moe}
model m(B = 2, S = 3, D = 4, E = 3, F = 5) {
  input x[B, S, D]
  y = a: moe(x; E, top = 3, expert = swiglu(F), aux = 0.25)
  output y
}
)");
  ASSERT_TRUE(program);
  EXPECT_NEAR(interp::interpret(*program, {}).loss, 0.25, 1e-12);
}

/// `names: shares`, of the weights of the first body.
std::string sharesOf(const std::string &text) {
  std::optional<Program> program = compileText(text);
  if (!program)
    return "";
  const Body &body = program->body(program->units[0]);
  std::vector<DimExpr> shares = activeShares(body, *program->context);
  std::string all;
  for (size_t i = 0; i < shares.size(); ++i)
    all += (i ? ", " : "") + program->text(body.weights[i].name).str() + ": " + shares[i].str();
  return all;
}

TEST(ActiveShares, OfExpertsAreThoseThatATokenGoesTo) {
  EXPECT_EQ(
      sharesOf(R"(
use std.{ffn, moe}
model m(B = 2, S = 3, D = 4, E = 8, F = 5) {
  input x[B, S, D]
  y = a: moe(x; E, top = 2, expert = mlp(F, bias = true), shared = mlp(F), router_bias = true)
  output y
}
)"),
      "a.w_r: 1, a.b_r: 1, a.experts.up.w: 2/E, a.experts.up.b: 2/E, a.experts.down.w: 2/E, a.experts.down.b: 2/E, "
      "a.shared.up.w: 1, a.shared.down.w: 1");
}

} // namespace
} // namespace stg::stdlib
