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

class ModelPlan : public testing::TestWithParam<std::tuple<ModelCase, PlanCase>> {};

TEST_P(ModelPlan, AStepHasTheNumbersOfOneDevice) {
  auto [model, plan] = GetParam();
  std::string text = "use plans.{data, megatron, fsdp}\nuse std.optim.{adamw}\nuse " + std::string(model.module) +
                     ".{" + model.model + "}\nworkload w {\n  model " + model.model + "(" + model.sizes +
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

INSTANTIATE_TEST_SUITE_P(Models, ModelPlan, testing::Combine(testing::ValuesIn(kModels), testing::ValuesIn(kPlans)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
                         });

} // namespace
} // namespace stg
