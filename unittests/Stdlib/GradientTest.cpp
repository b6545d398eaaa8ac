//===- GradientTest.cpp - gradients of the shipped layers and models ------------===//
#include "Autodiff/GradientCheck.h"
#include "StgText.h"
#include "stg/Analysis/Cost.h"
#include "gtest/gtest.h"

namespace stg::stdlib {
namespace {

void check(const std::string &text, size_t most = 12) {
  SCOPED_TRACE(text);
  std::optional<Program> program =
      compileText("use std.{attention, ffn, norm, moe, loss}\nuse std.optim.{sgd}\n" + text);
  ASSERT_TRUE(program);
  checkGradients(*program, {}, most);
}

/// A layer between two weights, so that its input and all its weights need a gradient. `use` is a call on x[B, S, D].
void checkLayer(const std::string &use, const std::string &more = "") {
  check(R"(
model m(B = 2, S = 3, D = 4, F = 6) {
  input z[B, S, D]
  weight w0[D]
  x = z * w0
  )" + more +
        R"(
  y = f: )" +
        use + R"(
  loss tanh(y) * y
}
workload w {
  model m
  train { optimizer = sgd }
}
)");
}

TEST(Gradient, Norms) {
  checkLayer("rmsnorm(x)");
  checkLayer("layernorm(x)");
  checkLayer("layernorm(x; bias = false)");
}

TEST(Gradient, FeedForwardLayers) {
  for (const char *use : {"linear(x; F, bias = true)", "mlp(x; F, bias = true)", "mlp(x; F, act = relu)", "glu(x; F)",
                          "swiglu(x; F)", "geglu(x; F)"})
    checkLayer(use);
}

TEST(Gradient, AttentionLayers) {
  for (const char *use :
       {"gqa(x; H = 2)", "gqa(x; H = 2, KV = 1)", "gqa(x; H = 2, mask = full, qk_norm = true)",
        "gqa(x; H = 2, mask = window(2), softcap = 1.5)", "gqa(x; H = 2, rope = identity, out_bias = true)",
        "mha(x; H = 2)", "mqa(x; H = 2)", "gqa(x; H = 2, KV = 1, sinks = true)",
        "gqa(x; H = 2, proj = linear(bias = true), sliding = 2, sinks = true, softcap = 1.5)",
        "mla(x; H = 2, Rq = 3, Rkv = 5, Dn = 4, Dr = 2)",
        "mla(x; H = 2, Rkv = 3, Dn = 2, Dr = 2, Dv = 3, q_latent = false, mask = window(2), temper = 1.5)",
        "gqa(x; H = 1, rope = rotary(scaling = \"linear\", factor = 4.0))",
        "gqa(x; H = 1, rope = rotary(scaling = \"llama3\", factor = 4.0, original = 9, slow = 0.5, fast = 4.0))",
        "gqa(x; H = 1, rope = rotary(scaling = \"yarn\", factor = 4.0, original = 9, gain = 1.3))"})
    checkLayer(use);
}

/// The gradient in C++ that stands for `attend_bwd` where nothing else says what it means.
TEST(Gradient, AttentionReference) {
  for (const char *arguments : {"bias", "none, sink", "bias, sink; softcap = 1.5"}) {
    std::string call = arguments, text = "use std.attention.{attend}\nuse std.optim.{sgd}\n"
                                         "model m(B = 2, S = 3, T = 3, H = 2, C = 4) {\n  weight q[B, S, H, C], "
                                         "k[B, T, H, C], v[B, T, H, C]";
    text += (call.find("bias") < call.size() ? ", bias[S, T, H]" : "") +
            std::string(call.find("sink") < call.size() ? ", sink[H]" : "") + "\n  o, lse = attend(q, k, v, " + call +
            ")\n  loss tanh(o) * o\n}\nworkload w {\n  model m\n  train { optimizer = sgd }\n}\n";
    SCOPED_TRACE(text);
    std::optional<Program> program = compileText(text);
    ASSERT_TRUE(program);
    dropDefineBlocks(*program, "attend");
    dropDefineBlocks(*program, "attend_bwd");
    checkGradients(*program, {}, 12);
  }
}

TEST(Gradient, Experts) {
  for (const char *arguments :
       {"top = 2, expert = swiglu(F), slack = 2.0", "top = 2, expert = swiglu(F), slack = 0.5",
        "top = 3, expert = mlp(F, bias = true), slack = 4.0, score = sigmoid, renorm = true, scale = 2.5",
        "top = 1, expert = swiglu(F), shared = swiglu(F), slack = 4.0, score = sigmoid, on_input = true",
        "top = 2, expert = clamped_glu(F, limit = 0.1), slack = 2.0, renorm = true, router_bias = true",
        "top = 2, expert = swiglu(F), slack = 2.0, aux = 0.5",
        "top = 2, expert = swiglu(F), slack = 2.0, balanced = true, groups = 2, top_groups = 1, group_best = 2"})
    checkLayer("moe(x; E = 4, " + std::string(arguments) + ")");
}

TEST(Gradient, AttentionBias) { checkLayer("gqa(x, bias; H, KV = 1)", "let H = 2, T = 3\n  weight bias[S, T, H]"); }

TEST(Gradient, Loss) {
  for (const char *call : {"xent(w, target)", "xent(w, target; z_loss = 0.1)"})
    check(std::string("model m(B = 2, S = 3, V = 5) {\n  input target[B, S]: i32\n  weight w[B, S, V]\n  loss ") +
              call + "\n}\nworkload w {\n  model m\n  train { optimizer = sgd }\n}\n",
          30);
}

/// `sizes` are arguments of the model.
void checkModel(const std::string &module, const std::string &model, const std::string &sizes, size_t most = 4) {
  check("use models." + module + "\nworkload w {\n  model " + model + "(" + sizes +
            ")\n  train { optimizer = sgd }\n}\n",
        most);
}

TEST(Gradient, Models) {
  checkModel("llama3", "llama3_8b", "L = 2, D = 8, H = 2, KV = 1, F = 6, V = 7, B = 1, S = 4");
  checkModel("llama3", "llama3_8b",
             "L = 2, D = 8, H = 2, KV = 1, F = 6, V = 7, B = 1, S = 4, tied = true, bias = true");
  checkModel("gpt3", "gpt3_125m", "L = 2, D = 8, H = 2, Dh = 4, F = 6, V = 7, B = 1, S = 4");
  checkModel("palm", "palm_8b", "L = 2, D = 8, H = 2, Dh = 6, F = 6, V = 7, B = 1, S = 4, z_loss = 0.1");
  checkModel("qwen2_5", "qwen2_5_7b", "L = 2, D = 8, H = 2, KV = 1, F = 6, V = 7, B = 1, S = 4");
  checkModel("qwen3", "qwen3_8b", "L = 2, D = 8, H = 2, KV = 1, Dh = 6, F = 6, V = 7, B = 1, S = 4");
  checkModel("qwen3", "qwen3_8b",
             "L = 2, D = 8, H = 2, KV = 1, Dh = 6, F = 6, V = 7, B = 1, S = 4, tied = true, reach = 2, whole = 1");
}

TEST(Gradient, ModelsWithExperts) {
  const std::string kSizes = "D = 8, H = 2, F = 6, V = 7, B = 1, S = 4, slack = 2.0", kHeads = ", KV = 1, Dh = 6",
                    kLatent = ", Rq = 5, Rkv = 6, Dn = 4, Dr = 2, Dv = 3, Fd = 7";
  checkModel("mixtral", "mixtral_8x7b", kSizes + ", L = 2, KV = 1, E = 4, aux = 0.5", 2);
  checkModel("qwen3", "qwen3_235b_a22b", kSizes + kHeads + ", L = 2, E = 4, top = 2, every = 2, Fd = 5", 2);
  checkModel("deepseek_moe", "deepseek_moe_16b", kSizes + ", L = 3, E = 4, top = 2, Fd = 7", 2);
  checkModel("deepseek_v2", "deepseek_v2", kSizes + kLatent + ", L = 2, E = 8, top = 2", 2);
  checkModel("deepseek_v3", "deepseek_v3", kSizes + kLatent + ", L = 2, Lead = 1, E = 16, top = 2", 2);
  checkModel("gpt_oss", "gpt_oss_20b", kSizes + kHeads + ", L = 2, E = 4, top = 2, reach = 2", 2);
  checkModel("llama4", "llama4_scout", kSizes + kHeads + ", L = 4, E = 4, reach = 2, q_scale = long_query(reach = 2)",
             2);
  checkModel("llama4", "llama4_maverick", kSizes + kHeads + ", L = 4, E = 4, Fd = 7, reach = 2", 2);
}

/// Every product of the model has two in the backward, and nothing else counts as one: 6 FLOPs per parameter and token.
TEST(Gradient, TheBackwardHasTwiceTheProductsOfTheModel) {
  for (const char *model : {"llama3.{llama3_8b}", "gpt3.{gpt3_125m}", "palm.{palm_8b}"}) {
    std::string name = model;
    name = name.substr(name.find('{') + 1, name.find('}') - name.find('{') - 1);
    std::optional<Program> program =
        compileText("use std.optim.{sgd}\nuse models." + std::string(model) + "\nworkload w {\n  model " + name +
                    "\n  train { optimizer = sgd }\n}\n");
    ASSERT_TRUE(program);
    PassStats stats;
    DimExpr forward = costOf(*program, stats).contraction;
    Program trained = differentiated(*program);
    EXPECT_EQ(costOf(trained, stats).contraction.integer(), (forward * 3).integer()) << model;
  }
}

/// Values of an encoder that every block reads, a loss in each block, dropout, a frozen layer.
TEST(Gradient, CapturedValuesAndLossesInARepeat) {
  check(R"(
model m(B = 2, S = 3, D = 4) {
  input z[B, S, D]
  e = enc: mlp(z; F = 5)
  x = z
  repeat 3 as blocks {
    h = ffn: mlp(x * e; F = 6)
    x = x + dropout(h; p = 0.25)
    loss square(h)
  }
  loss x * e
}
workload w {
  model m
  train {
    optimizer = sgd
  }
}
)");
}

} // namespace
} // namespace stg::stdlib
