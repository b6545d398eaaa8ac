//===- SizesTest.cpp - every layer and model at three size settings --------===//
// Tiny, odd and big: what compiles at one setting must at the others, and the number of parameters must be that of its
// formula, not of a size that somebody had in mind.
//===----------------------------------------------------------------------===//
#include "StgText.h"
#include "stg/Analysis/Cost.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>

namespace stg::stdlib {
namespace {

struct Sizes {
  const char *name;
  int64_t B, S, D, H, KV, F, V, L;
};
constexpr Sizes kSettings[] = {{"tiny", 1, 1, 2, 1, 1, 1, 2, 1},
                               {"odd", 3, 5, 42, 21, 7, 33, 101, 3},
                               {"big", 1024, 131072, 16384, 128, 8, 53248, 256000, 126}};

std::string parameters(const Sizes &sizes) {
  auto one = [](const char *name, int64_t value) { return std::string(", ") + name + " = " + std::to_string(value); };
  return "B = " + std::to_string(sizes.B) + one("S", sizes.S) + one("D", sizes.D) + one("H", sizes.H) +
         one("KV", sizes.KV) + one("F", sizes.F) + one("V", sizes.V);
}

struct Layer {
  const char *call;
  std::function<int64_t(const Sizes &)> parameters;
};

TEST(Sizes, EveryLayerElaborates) {
  const Layer layers[] = {
      {"linear(x; F)", [](const Sizes &n) { return n.D * n.F; }},
      {"linear(x; (KV, F), bias = true)", [](const Sizes &n) { return (n.D + 1) * n.KV * n.F; }},
      {"mlp(x)", [](const Sizes &n) { return 8 * n.D * n.D; }},
      {"mlp(x; F, act = silu, bias = true)", [](const Sizes &n) { return 2 * n.D * n.F + n.D + n.F; }},
      {"glu(x; F, act = tanh)", [](const Sizes &n) { return 3 * n.D * n.F; }},
      {"swiglu(x; F)", [](const Sizes &n) { return 3 * n.D * n.F; }},
      {"geglu(x; F)", [](const Sizes &n) { return 3 * n.D * n.F; }},
      {"rmsnorm(x)", [](const Sizes &n) { return n.D; }},
      {"layernorm(x)", [](const Sizes &n) { return 2 * n.D; }},
      {"layernorm(x; bias = false)", [](const Sizes &n) { return n.D; }},
      {"gqa(x; H, KV)", [](const Sizes &n) { return 2 * n.D * n.D + 2 * n.D * n.D / n.H * n.KV; }},
      {"gqa(x; H, KV, qk_norm = true, out_bias = true)",
       [](const Sizes &n) { return 2 * n.D * n.D + 2 * n.D * n.D / n.H * n.KV + 2 * (n.D / n.H) + n.D; }},
      {"gqa(x; H, KV, mask = window(2), softcap = 30.0)",
       [](const Sizes &n) { return 2 * n.D * n.D + 2 * n.D * n.D / n.H * n.KV; }},
      {"gqa(x; H, KV, sliding = 2, sinks = true, proj = linear(bias = true))",
       [](const Sizes &n) { return 2 * n.D * n.D + n.D + n.H + 2 * (n.D + 1) * n.D / n.H * n.KV; }},
      {"mla(x; H, Rq = F, Rkv = V, Dn = 6, Dr = 2, Dv = 5)",
       [](const Sizes &n) {
         return (n.D + 1) * n.F + n.F * n.H * 8 + n.D * (n.V + 2) + n.V + n.V * n.H * 11 + n.H * 5 * n.D;
       }},
      {"mla(x; H, Rkv = V, Dn = 6, Dr = 2, q_latent = false)",
       [](const Sizes &n) { return n.D * n.H * 8 + n.D * (n.V + 2) + n.V + n.V * n.H * 12 + n.H * 6 * n.D; }},
      {"moe(x; E = 4, top = 2, expert = swiglu(F))", [](const Sizes &n) { return 4 * n.D + 12 * n.D * n.F; }},
      {"moe(x; E = 4, top = 2, expert = clamped_glu(F), shared = mlp(F), router_bias = true, balanced = true)",
       [](const Sizes &n) { return 4 * n.D + 4 + 4 * (3 * n.D * n.F + 2 * n.F + n.D) + 2 * n.D * n.F; }},
      {"mha(x; H)", [](const Sizes &n) { return 4 * n.D * n.D + 4 * n.D; }},
      {"mqa(x; H)", [](const Sizes &n) { return 2 * n.D * n.D + 2 * n.D * n.D / n.H; }},
      {"rotary(x)", [](const Sizes &) { return 0; }},
      {"xent(x, target)", [](const Sizes &) { return 0; }},
  };
  for (const Layer &layer : layers)
    for (const Sizes &sizes : kSettings) {
      const char *target = llvm::StringRef(layer.call).contains("target") ? ", target[B, S]: i32" : "";
      std::optional<Program> program =
          compileText(std::string("use std.{attention, ffn, norm, moe, loss}\nmodel m(") + parameters(sizes) +
                      ") {\n  input x[B, S, D]" + target + "\n  y = f: " + layer.call + "\n  output y\n}\n");
      ASSERT_TRUE(program) << layer.call << " " << sizes.name;
      EXPECT_EQ(parameterCount(*program).size(), layer.parameters(sizes)) << layer.call << " " << sizes.name;
    }
}

TEST(Sizes, EveryModelElaborates) {
  struct Module {
    const char *name;
    bool isGrouped; ///< heads of keys are KV, all of width D / H; else Dh is said
    std::function<int64_t(const Sizes &)> parameters;
  };
  auto llama = [](const Sizes &n) {
    return n.L * (2 * n.D * n.D + 2 * n.D * n.D / n.H * n.KV + 3 * n.D * n.F + 2 * n.D) + 2 * n.V * n.D + n.D;
  };
  const Module modules[] = {
      {"models.gpt3", false,
       [](const Sizes &n) {
         return n.L * (4 * n.D * n.D + 2 * n.D * n.F + 9 * n.D + n.F) + (n.V + n.S) * n.D + 2 * n.D;
       }},
      {"models.llama2", true, llama},
      {"models.llama3", true, llama},
      {"models.mistral", true, llama},
      {"models.qwen2_5", true, [llama](const Sizes &n) { return llama(n) + n.L * (n.D + 2 * n.D / n.H * n.KV); }},
      {"models.palm", false, [](const Sizes &n) {
         return n.L * (2 * n.D * n.D + 2 * n.D * n.D / n.H + 3 * n.D * n.F + n.D) + n.V * n.D + n.D;
       }}};
  for (const auto &[module, isGrouped, parameters] : modules) {
    std::vector<std::string> models = modelsIn(module);
    EXPECT_FALSE(models.empty()) << module;
    for (const std::string &model : models)
      for (const Sizes &n : kSettings) {
        std::string sizes = "L = " + std::to_string(n.L) + ", B = " + std::to_string(n.B) +
                            ", S = " + std::to_string(n.S) + ", D = " + std::to_string(n.D) +
                            ", H = " + std::to_string(n.H) + ", F = " + std::to_string(n.F) +
                            ", V = " + std::to_string(n.V) +
                            (isGrouped ? ", KV = " + std::to_string(n.KV) : ", Dh = " + std::to_string(n.D / n.H));
        std::optional<Program> program = compileText("use " + std::string(module) + ".{" + model +
                                                     "}\nworkload w {\n  model " + model + "(" + sizes + ")\n}\n");
        ASSERT_TRUE(program) << model << " " << n.name;
        EXPECT_EQ(parameterCount(*program).size(), parameters(n)) << model << " " << n.name;
        // At the tiny setting the numbers are worked out, too.
        if (n.L == 1)
          EXPECT_TRUE(std::isfinite(interp::interpret(*program, {}).loss)) << model;
      }
  }
}

// The layer of a family is the body of its models without the head.
TEST(Sizes, EveryFamilyIsALayer) {
  struct Family {
    const char *module, *call;
    int64_t parameters;
  };
  // 3 heads of 2 over 1 of keys: 72 for q and the output, 24 for k and v.
  const Family families[] = {
      {"models.gpt3.{gpt3}", "gpt3(ids; L, D, H, V)", 2 * (12 * 36 + 13 * 6) + (11 + 5) * 6 + 12},
      {"models.llama2.{llama2}", "llama2(ids; L, D, H, KV, F, V)", 2 * (96 + 126 + 12) + 66 + 6},
      {"models.llama3.{llama3}", "llama3(ids; L, D, H, KV, F, V)", 2 * (96 + 126 + 12) + 66 + 6},
      {"models.mistral.{mistral}", "mistral(ids; L, D, H, KV, F, V)", 2 * (96 + 126 + 12) + 66 + 6},
      {"models.palm.{palm}", "palm(ids; L, D, H, Dh = 2, F, V)", 2 * (96 + 126 + 6) + 66 + 6},
      {"models.qwen2_5.{qwen2_5}", "qwen2_5(ids; L, D, H, KV, F, V)", 2 * (96 + 10 + 126 + 12) + 66 + 6},
      {"models.qwen3.{qwen3}", "qwen3(ids; L, D, H, KV, Dh = 2, F, V)", 2 * (96 + 4 + 126 + 12) + 66 + 6},
      {"models.qwen3.{qwen3_moe}", "qwen3_moe(ids; L, D, H, KV, Dh = 2, F, E = 8, V)",
       2 * (96 + 4 + 8 * 126 + 48 + 12) + 66 + 6},
      {"models.mixtral.{mixtral}", "mixtral(ids; L, D, H, KV, F, E = 4, V)", 2 * (96 + 4 * 126 + 24 + 12) + 66 + 6},
      {"models.gpt_oss.{gpt_oss}", "gpt_oss(ids; L, D, H, KV, Dh = 2, F, E = 4, V)",
       2 * (96 + 10 + 6 + 3 + 4 * (126 + 14 + 6) + 28 + 12) + 66 + 6},
      {"models.llama4.{llama4}", "llama4(ids; L, D, H, KV, Dh = 2, F, E = 4, Fd = 5, V)",
       (96 + 90 + 12) + (96 + 5 * 126 + 24 + 12) + 66 + 6},
      {"models.deepseek_moe.{deepseek_moe}", "deepseek_moe(ids; L, D, H, F, E = 6, Fd = 5, V)",
       (144 + 90 + 12) + (144 + 8 * 126 + 36 + 12) + 66 + 6},
      // q: 6 * 5 + 5 and 5 * 3 * 6, latents: 6 * (4 + 2) + 4, k and v: 4 * 3 * 6, out: 3 * 2 * 6.
      {"models.deepseek_v2.{deepseek_v2_body}",
       "deepseek_v2_body(ids; L, D, H, Rq = 5, Rkv = 4, Dn = 4, Dr = 2, Dv = 2, F, E = 16, Fd = 5, V)",
       2 * 273 + (90 + 12) + (18 * 126 + 96 + 12) + 66 + 6},
      {"models.deepseek_v3.{deepseek_v3_body}",
       "deepseek_v3_body(ids; L, D, H, Rq = 5, Rkv = 4, Dn = 4, Dr = 2, Dv = 2, F, E = 16, Fd = 5, V, Lead = 1)",
       2 * 273 + (90 + 12) + (17 * 126 + 96 + 12) + 66 + 6}};
  for (const Family &family : families) {
    std::optional<Program> program = compileText(
        std::string("use ") + family.module +
        "\nmodel m(L = 2, B = 2, S = 5, D = 6, H = 3, KV = 1, F = 7, V = 11) {\n  input ids[B, S]: i32\n  y = body: " +
        family.call + "\n  output y\n}\n");
    ASSERT_TRUE(program) << family.call;
    EXPECT_EQ(parameterCount(*program).size(), family.parameters) << family.call;
    EXPECT_EQ(interp::interpret(*program, {}).output("y")->data.size(), 2u * 5 * 6);
  }
}

} // namespace
} // namespace stg::stdlib
