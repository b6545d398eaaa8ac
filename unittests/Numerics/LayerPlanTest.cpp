//===- LayerPlanTest.cpp - std layers by the usual plans --------------------===//
// Each layer of the standard library between a lookup and a cross-entropy,
// trained by data, tensor, sequence and context parallelism and their products,
// for one micro-batch and for three.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "gtest/gtest.h"

namespace stg {
namespace {

struct LayerCase {
  const char *name;
  const char *call; ///< of `x[B, S, D]`
};
constexpr LayerCase kLayers[] = {
    {"Gqa", "gqa(x; H, KV, Dh)"},
    {"GqaVariants", "gqa(x; H, KV, Dh, qk_norm = true, mask = window(5), "
                    "softcap = 2.0, out_bias = true)"},
    {"GqaSinks", "gqa(x; H, KV, Dh, sinks = true, sliding = 5, proj = linear(bias = true))"},
    {"Mla", "mla(x; H, Rq = 6, Rkv = 4, Dn = 2, Dr = 2, Dv = 3)"},
    {"MlaOfWholeQueries", "mla(x; H, Rkv = 4, Dn = 2, Dr = 2, q_latent = false, mask = window(7))"},
    {"Mha", "mha(x; H, Dh)"},
    {"Mqa", "mqa(x; H, Dh)"},
    {"Swiglu", "swiglu(x; F)"},
    {"Geglu", "geglu(x; F)"},
    {"Mlp", "mlp(x; F, bias = true)"},
    {"Linear", "linear(x[D as Di]; D, bias = true)"},
    {"Rmsnorm", "rmsnorm(x)"},
    {"Layernorm", "layernorm(x)"},
    {"Dropout", "dropout(x; 0.25)"},
};

struct PlanCase {
  const char *name;
  const char *rules; ///< of a plan, its mesh first
  int ranks;
  int batchRanks; ///< that split B
};
constexpr PlanCase kUlysses[] = {
    {"Ulysses2", "mesh cp = 2\n  split H or replicate over cp in attend\n  split S over cp", 2, 1},
    {"Ulysses3Tp2",
     "mesh cp = 3, tp = 2\n  split H or replicate over cp in attend\n  split S over cp\n"
     "  split H or replicate, F, V over tp",
     6, 1},
};
constexpr PlanCase kPlans[] = {
    {"Dp2", "mesh dp = 2\n  split B over dp", 2, 2},
    {"Dp4", "mesh dp = 4\n  split B over dp", 4, 4},
    {"Tp2", "mesh tp = 2\n  split H or replicate, F, V over tp", 2, 1},
    {"Tp4", "mesh tp = 4\n  split H or replicate, F, V over tp", 4, 1},
    {"Tp2Sp", "mesh tp = 2\n  split H or replicate, F, V over tp\n  split S over tp", 2, 1},
    {"Tp4Sp", "mesh tp = 4\n  split H or replicate, F, V over tp\n  split S over tp", 4, 1},
    {"Cp2", "mesh cp = 2\n  split S over cp", 2, 1},
    {"Cp2Zigzag", "mesh cp = 2\n  split S zigzag over cp", 2, 1},
    {"Cp4Zigzag", "mesh cp = 4\n  split S zigzag over cp", 4, 1},
    {"D2", "mesh tp = 2\n  split D over tp", 2, 1},
    {"Dp2Tp2Sp",
     "mesh dp = 2, tp = 2\n  split B over dp\n  split H or replicate, F, V "
     "over tp\n  split S over tp",
     4, 2},
    {"Dp2Tp3",
     "mesh dp = 2, tp = 3\n  split B over dp\n  split H or replicate, F, V "
     "over tp",
     6, 2},
    {"Dp2Tp3Sp",
     "mesh dp = 2, tp = 3\n  split B over dp\n  split H or replicate, F, V "
     "over tp\n  split S over tp",
     6, 2},
    {"Cp2Tp2Sp",
     "mesh cp = 2, tp = 2\n  split S zigzag over cp\n  split H or replicate, "
     "F, V over tp\n  split S over tp",
     4, 1},
    {"Dp2Cp2Tp2Sp",
     "mesh dp = 2, cp = 2, tp = 2\n  split B over dp\n  split S zigzag over "
     "cp\n  split H or replicate, F, V over tp\n"
     "  split S over tp",
     8, 2},
};

class LayerPlan : public testing::TestWithParam<std::tuple<LayerCase, PlanCase, int>> {};

TEST_P(LayerPlan, AStepHasTheNumbersOfOneDevice) {
  auto [layer, plan, microBatches] = GetParam();
  std::string text = "use std.attention.{gqa, mha, mla, mqa}\nuse std.ffn.{linear, mlp, swiglu, "
                     "geglu}\n"
                     "use std.norm.{rmsnorm, layernorm}\nuse std.loss.{xent}\nuse "
                     "std.optim.{adamw}\n"
                     "model m(B = 4, S = 24, D = 12, H = 12, KV = 6, Dh = 2, F = 12, V = 12) "
                     "{\n"
                     "  input ids[B, S]: i32, target[B, S]: i32\n"
                     "  weight wte[V, D], head[V, D]\n"
                     "  x = lookup(ids, wte)\n"
                     "  x = x + layer: " +
                     std::string(layer.call) +
                     "\n  loss xent(sum(D) x * head, target)\n}\n"
                     "plan p {\n  " +
                     plan.rules + "\n  microbatch " + std::to_string(4 / plan.batchRanks) +
                     "\n}\nworkload w {\n  model m(B = " + std::to_string(4 * microBatches) + ")\n  plan p\n  ranks " +
                     std::to_string(plan.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
  if (layer.call == std::string_view("dropout(x; 0.25)"))
    text.replace(text.find("layer: "), 7, "");
  SplitProgram programs = splitProgram(text);
  ASSERT_TRUE(programs.split) << programs.messages << text;
  interp::InterpInputs inputs;
  inputs.seed = 17;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  EXPECT_GE(comparison.onRanks.gradients.size(), 2u);
  EXPECT_EQ(comparison.onRanks.gradients.size(), comparison.onRanks.weights.size());
  EXPECT_GT(comparison.shared, 10u);
}

std::string nameOf(const testing::TestParamInfo<LayerPlan::ParamType> &info) {
  const auto &[layer, plan, microBatches] = info.param;
  return std::string(layer.name) + plan.name + "M" + std::to_string(microBatches);
}

/// Layers x plans x micro-batches. With sanitizers a program takes five times as long: then every fifth pair, with one
/// number of micro-batches.
std::vector<std::tuple<LayerCase, PlanCase, int>> cases(llvm::ArrayRef<LayerCase> layers,
                                                        llvm::ArrayRef<PlanCase> plans) {
#ifdef STG_CHECKED
  constexpr size_t kStride = 5;
  constexpr int kMicroBatches[] = {3};
#else
  constexpr size_t kStride = 1;
  constexpr int kMicroBatches[] = {1, 3};
#endif
  std::vector<std::tuple<LayerCase, PlanCase, int>> list;
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (size_t plan = 0; plan < plans.size(); ++plan)
      for (int microBatches : kMicroBatches)
        if ((layer + plan) % kStride == 0)
          list.emplace_back(layers[layer], plans[plan], microBatches);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerPlan, testing::ValuesIn(cases(kLayers, kPlans)), nameOf);

// The exchange of sequence for heads needs attention: the first seven layers.
INSTANTIATE_TEST_SUITE_P(Attention, LayerPlan,
                         testing::ValuesIn(cases(llvm::ArrayRef(kLayers).take_front(7), kUlysses)), nameOf);

} // namespace
} // namespace stg
