//===- ModelPlanTest.cpp - shipped models under shipped plans ----------------===//
// Each family of models at a few elements per dimension, trained for a step of two or four micro-batches under the
// plans of the standard library: losses, gradients, states and new weights on ranks are those of one device.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "gtest/gtest.h"

namespace stg {
namespace {

struct ModelCase {
  const char *name;
  const char *module, *model;
  const char *sizes; ///< all but the batch
};
constexpr ModelCase kModels[] = {
    {"Palm", "models.palm", "palm_8b", "L = 4, D = 8, H = 4, Dh = 2, F = 8, V = 12, S = 8"},
    {"Qwen25", "models.qwen2_5", "qwen2_5_7b", "L = 4, D = 8, H = 4, KV = 2, F = 8, V = 12, S = 8, tied = true"},
    {"Qwen3", "models.qwen3", "qwen3_8b",
     "L = 4, D = 8, H = 4, KV = 2, Dh = 4, F = 8, V = 12, S = 8, reach = 3, whole = 2, "
     "rope = rotary(scaling = \"yarn\", factor = 4.0, original = 9, gain = 1.3)"},
    // With experts: as many slots as nothing can overflow.
    {"Mixtral", "models.mixtral", "mixtral_8x7b",
     "L = 4, D = 8, H = 4, KV = 2, F = 8, E = 4, slack = 2.0, aux = 0.5, V = 12, S = 8"},
    {"Qwen3Experts", "models.qwen3", "qwen3_235b_a22b",
     "L = 4, D = 8, H = 4, KV = 2, Dh = 4, F = 8, E = 4, top = 2, slack = 2.0, V = 12, S = 8"},
    {"DeepseekMoe", "models.deepseek_moe", "deepseek_moe_16b",
     "L = 4, D = 8, H = 4, F = 4, E = 8, Fd = 8, top = 2, slack = 4.0, V = 12, S = 8"},
    {"DeepseekV2", "models.deepseek_v2", "deepseek_v2",
     "L = 4, D = 8, H = 4, Rq = 6, Rkv = 4, Dn = 2, Dr = 2, Dv = 3, F = 4, E = 8, Fd = 8, top = 2, slack = 4.0, V = "
     "12, "
     "S = 8"},
    {"DeepseekV3", "models.deepseek_v3", "deepseek_v3",
     "L = 4, D = 8, H = 4, Rq = 6, Rkv = 4, Dn = 2, Dr = 2, Dv = 2, F = 4, E = 16, Fd = 8, Lead = 2, top = 4, "
     "slack = 4.0, temper = 1.5, V = 12, S = 8"},
    {"GptOss", "models.gpt_oss", "gpt_oss_20b",
     "L = 4, D = 8, H = 4, KV = 2, Dh = 4, F = 8, E = 4, top = 2, reach = 3, slack = 2.0, V = 12, S = 8"},
    {"Llama4Scout", "models.llama4", "llama4_scout",
     "L = 4, D = 8, H = 4, KV = 2, Dh = 4, F = 8, E = 4, reach = 3, slack = 4.0, V = 12, S = 8, "
     "q_scale = long_query(reach = 2)"},
    {"Llama4Maverick", "models.llama4", "llama4_maverick",
     "L = 4, D = 8, H = 4, KV = 2, Dh = 4, F = 8, E = 4, Fd = 8, reach = 3, slack = 4.0, V = 12, S = 8"},
};

struct PlanCase {
  const char *name;
  const char *plan; ///< of the modules below
  int ranks;
  int batch; ///< sequences of a step
};
constexpr PlanCase kPlans[] = {
    {"Data", "data", 4, 8},
    {"Tp", "megatron(tp = 2, sp = false)", 2, 2},
    {"TpSpDp", "megatron(tp = 2)", 4, 4},
    {"Tp4Sp", "megatron(tp = 4)", 4, 2},
    {"CpTpSp", "megatron(tp = 2, cp = 2)", 4, 2},
    {"DpCpTpSp", "megatron(tp = 2, cp = 2, distributed_optimizer = true)", 8, 4},
    {"PpTpSp", "megatron(tp = 2, pp = 2)", 4, 4},
    {"PpChunksDp", "megatron(tp = 1, pp = 2, chunks = 2, selective = true)", 4, 8},
    {"Fsdp", "fsdp", 4, 8},
    {"HsdpCpTp", "fsdp(rep = 2, cp = 2, tp = 2)", 8, 4},
    {"FsdpPp", "fsdp(pp = 2)", 4, 4},
};
/// For models with experts.
constexpr PlanCase kExpertPlans[] = {
    {"EpDp", "megatron(tp = 1, ep = 2)", 4, 8},
    {"EpTpSp", "megatron(tp = 2, ep = 2, etp = 1)", 2, 2},
    {"EpEtp", "megatron(tp = 2, ep = 2)", 4, 4},
    {"EpEtpFewer", "megatron(tp = 4, ep = 2, etp = 2)", 4, 2},
    {"EpCpTpSp", "megatron(tp = 2, cp = 2, ep = 4, etp = 1, distributed_optimizer = true)", 8, 4},
    {"EpEdpCp", "megatron(tp = 1, cp = 2, ep = 2)", 8, 8},
    {"EpPp", "megatron(tp = 1, pp = 2, ep = 2, selective = true)", 4, 8},
    {"EpTwoLevel", "megatron(tp = 1, ep = 4, node = 2)", 8, 16},
    {"FsdpEp", "fsdp(ep = 2)", 4, 8},
    {"HsdpEpTp", "fsdp(rep = 2, tp = 2, ep = 4)", 8, 8},
};

class ModelPlan : public testing::TestWithParam<std::tuple<ModelCase, PlanCase>> {};

TEST_P(ModelPlan, AStepHasTheNumbersOfOneDevice) {
  auto [model, plan] = GetParam();
  std::string text = "use plans.{data, megatron, fsdp}\nuse std.optim.{adamw}\nuse std.attention.{rotary}\nuse " +
                     std::string(model.module) + "\nworkload w {\n  model " + model.model + "(" + model.sizes +
                     ", B = " + std::to_string(plan.batch) + ")\n  plan " + plan.plan + "\n  ranks " +
                     std::to_string(plan.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
  SplitProgram programs = splitProgram(text);
  ASSERT_TRUE(programs.split) << programs.messages << text;
  interp::InterpInputs inputs;
  inputs.seed = 23;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  EXPECT_GE(comparison.onRanks.losses.size(), 2u);
  EXPECT_EQ(comparison.onRanks.gradients.size(), comparison.onRanks.weights.size());
  EXPECT_GT(comparison.shared, 100u);
}

/// With sanitizers a program takes five times as long: then every fifth pair.
std::vector<std::tuple<ModelCase, PlanCase>> cases() {
#ifdef STG_CHECKED
  constexpr size_t kStride = 5;
#else
  constexpr size_t kStride = 1;
#endif
  std::vector<std::tuple<ModelCase, PlanCase>> list;
  for (size_t model = 0; model < std::size(kModels); ++model) {
    for (size_t plan = 0; plan < std::size(kPlans); ++plan)
      if ((model + plan) % kStride == 0)
        list.emplace_back(kModels[model], kPlans[plan]);
    if (llvm::StringRef(kModels[model].sizes).contains("E = "))
      for (size_t plan = 0; plan < std::size(kExpertPlans); ++plan)
        if ((model + plan) % kStride == 0)
          list.emplace_back(kModels[model], kExpertPlans[plan]);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Models, ModelPlan, testing::ValuesIn(cases()), [](const auto &info) {
  return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
});

} // namespace
} // namespace stg
