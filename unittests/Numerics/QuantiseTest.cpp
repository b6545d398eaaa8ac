//===- QuantiseTest.cpp - steps whose matrix products read narrow copies ------===//
// On simulated ranks a step has the numbers of one device that rounds the same tensors by the same scales; and those
// are near the numbers of a step that rounds nothing, as far as eight bits go.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "StepPlans.h"
#include "stg/Analysis/Cost.h"
#include "stg/Interp/Interpreter.h"
#include "gtest/gtest.h"
#include <cmath>

namespace stg {
namespace {

const std::string kUses = "use std.attention.{gqa, mha}\nuse std.ffn.{mlp, swiglu}\nuse std.norm.{layernorm, rmsnorm}\n"
                          "use std.loss.{xent}\nuse std.optim.{adamw}\n";

const std::string kLlama = "model m(L = 2, B = 2, S = 8, D = 8, H = 4, KV = 2, Dh = 2, F = 8, V = 8) {\n"
                           "  input ids[B, S]: i32, target[B, S]: i32\n"
                           "  weight wte[V, D], head[V, D]\n"
                           "  x = lookup(ids, wte)\n"
                           "  repeat L as blocks {\n"
                           "    x = x + attn: gqa(norm1: rmsnorm(x); H, KV, Dh)\n"
                           "    x = x + ffn: swiglu(norm2: rmsnorm(x); F)\n"
                           "  }\n"
                           "  loss xent(sum(D) norm_f: rmsnorm(x) * head, target)\n}\n";

/// Biases, and a head that is the table of the embedding.
const std::string kGpt = "model m(L = 2, B = 2, S = 8, D = 8, H = 4, Dh = 2, F = 8, V = 8) {\n"
                         "  input ids[B, S]: i32, target[B, S]: i32\n"
                         "  weight wte[V, D]\n"
                         "  x = lookup(ids, wte)\n"
                         "  repeat L as blocks {\n"
                         "    x = x + attn: mha(norm1: layernorm(x); H, Dh)\n"
                         "    x = x + ffn: mlp(norm2: layernorm(x); F, bias = true)\n"
                         "  }\n"
                         "  loss xent(sum(D) norm_f: layernorm(x) * wte, target)\n}\n";

constexpr PlanCase kPlans[] = {
    kOne,
    kDp2,
    kTp2,
    kTp2Sp,
    kTp2SpGathered,
    kCp2,
    {"WeightsByLayout", "mesh dp = 2\n  split B over dp\n  split D over dp", 2, 2},
    kDp2Cp2Tp2Sp,
    {"Zero2", "mesh dp = 2\n  split B over dp\n  zero 2 over dp", 2, 2},
    kZero3,
    {"Zero3Recompute", "mesh dp = 2\n  split B over dp\n  zero 3 over dp\n  recompute blocks", 2, 2},
    {"Zero3Tp2Sp",
     "mesh dp = 2, tp = 2\n  split B over dp\n  split H, F, V over tp\n  split S over tp\n  zero 3 over dp", 4, 2},
    {"Tp2SpRecompute",
     "mesh tp = 2\n  split H, F, V over tp\n  split S over tp\n  recompute ffn, norm1 { comm = keep }", 2, 1},
    kPipe1F1B,
    kPipeZb,
};

constexpr const char *kRules[] = {
    "precision { gemm = f8e4m3 }",
    "precision { gemm = f8e5m2 } in attn\n  precision { gemm = bf16 } in blocks[1]\n  precision { gemm = f8e4m3 }",
    "precision { act = f32, weight = f32, gemm = bf16 } in ffn",
};
constexpr const char *kRuleNames[] = {"Eight", "Mixed", "Casts"};

std::string textOf(const std::string &model, const PlanCase &plan, const std::string &rules) {
  int microBatches = std::string(plan.name).starts_with("Pipe") ? 4 : 2;
  return kUses + model + "plan p {\n  " + plan.rules + "\n  " + rules + "\n  microbatch 2\n}\nworkload w {\n" +
         "  model m(B = " + std::to_string(2 * plan.batchRanks * microBatches) + ")\n  plan p\n  ranks " +
         std::to_string(plan.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
}

class Quantise : public testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(Quantise, RanksHaveTheNumbersOfOneDevice) {
  auto [plan, rule] = GetParam();
  // With sanitizers a program takes five times as long: then models take turns.
#ifdef STG_CHECKED
  const std::vector<std::string> models = {(plan + rule) % 2 == 0 ? kLlama : kGpt};
#else
  const std::vector<std::string> models = {kLlama, kGpt};
#endif
  for (const std::string &model : models)
    EXPECT_TRUE(expectSame(textOf(model, kPlans[plan], kRules[rule]), 7 + plan));
}

INSTANTIATE_TEST_SUITE_P(Plans, Quantise,
                         testing::Combine(testing::Range(size_t(0), std::size(kPlans)),
                                          testing::Range(size_t(0), std::size(kRules))),
                         [](const auto &info) {
                           return std::string(kPlans[std::get<0>(info.param)].name) +
                                  kRuleNames[std::get<1>(info.param)];
                         });

double squaredDistance(const interp::Tensor &a, const interp::Tensor *b) {
  double sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    sum += std::pow(a.data[i] - (b ? b->data[i] : 0), 2);
  return sum;
}

TEST(QuantisedStep, IsNearTheStepThatRoundsNothing) {
  for (const std::string &model : {kLlama, kGpt}) {
    SplitProgram exact = splitProgram(textOf(model, kPlans[0], ""));
    SplitProgram rounded = splitProgram(textOf(model, kPlans[0], kRules[0]));
    ASSERT_TRUE(exact.whole && rounded.whole) << rounded.messages;
    interp::InterpInputs inputs;
    inputs.seed = 3;
    interp::InterpResult a = interp::interpret(*exact.whole, inputs), b = interp::interpret(*rounded.whole, inputs);
    EXPECT_NE(a.loss, b.loss);
    EXPECT_NEAR(a.loss, b.loss, 0.02 * a.loss);
    ASSERT_EQ(a.gradients.size(), b.gradients.size());
    double all = 0, wrong = 0;
    for (size_t i = 0; i < a.gradients.size(); ++i) {
      ASSERT_EQ(a.gradients[i].name, b.gradients[i].name);
      all += squaredDistance(a.gradients[i].value, nullptr);
      wrong += squaredDistance(a.gradients[i].value, &b.gradients[i].value);
    }
    // Four binary digits of x and w, three of gradients: some percent each, through the products of two blocks.
    EXPECT_GT(wrong, 0);
    EXPECT_LT(std::sqrt(wrong / all), 0.2);
  }
}

TEST(QuantisedStep, CostsTheSameContractions) {
  PassStats stats;
  SplitProgram exact = splitProgram(textOf(kLlama, kPlans[3], ""));
  SplitProgram rounded = splitProgram(textOf(kLlama, kPlans[3], kRules[0]));
  ASSERT_TRUE(exact.split && rounded.split) << rounded.messages;
  OpCost a = costOf(*exact.split, stats), b = costOf(*rounded.split, stats);
  EXPECT_EQ(a.contraction.rational()->toDouble(), b.contraction.rational()->toDouble());
  EXPECT_LT(a.other.rational()->toDouble(), b.other.rational()->toDouble());
}

} // namespace
} // namespace stg
