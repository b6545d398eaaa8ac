//===- TablesTest.cpp - collectives of known plans, layer by layer -------------===//
#include "Sharding/Compiled.h"
#include "Sharding/LlamaProgram.h"

using namespace stg;
using namespace stg::test;

namespace {

constexpr const char *kB = "split (B) over (dp)\n";
constexpr const char *kTp = "split (KV, R, H, F, V) over (tp)\n";
constexpr const char *kSp = "split (S) over (tp)\n";
constexpr const char *kCp = "split (S zigzag) over (cp)\n";

struct Row {
  const char *name, *mesh;
  std::string plan;
  const char *forward, *backward, *step;
};

void expectLayer(const Row &row, LlamaText text = {}) {
  SCOPED_TRACE(row.name);
  text.mesh = row.mesh;
  text.plan = row.plan;
  Compiled compiled(stg::test::text(text));
  ASSERT_TRUE(compiled.program && compiled.program->level == Level::Explicit);
  EXPECT_EQ(compiled.collectives("block", true), row.forward);
  EXPECT_EQ(compiled.collectives("block", false), row.backward);
  EXPECT_EQ(compiled.step("block"), row.step);
}

// Per layer, as the numpy model of the language's layouts executed them: collectives of the forward and the backward
// pass of a micro-batch, and what is summed once per step.
TEST(Tables, LlamaLayer) {
  std::string b = kB, tp = kTp, sp = kSp, cp = kCp;
  expectLayer({"DP", "dp = 4", b, "", "", "AR(dp) 9"});
  expectLayer({"TP", "dp = 2, tp = 2", b + tp, "AR(tp) 2", "AR(tp) 2", "AR(dp) 9"});
  expectLayer(
      {"TP+SP", "dp = 2, tp = 2", b + tp + sp, "AG(tp) 2, RS(tp) 2", "AG(tp) 4, RS(tp) 2", "AR(dp) 7, AR(dp*tp) 2"});
  expectLayer({"DP x CP zigzag", "dp = 2, cp = 2", b + cp, "AG(cp) 2", "AG(cp) 2, RS(cp) 2", "AR(dp*cp) 9"});
  expectLayer({"DP x CP x TP x SP", "dp = 2, cp = 2, tp = 2", b + cp + tp + sp, "AG(cp) 2, AG(tp) 2, RS(tp) 2",
               "AG(cp) 2, AG(tp) 4, RS(cp) 2, RS(tp) 2", "AR(dp*cp) 7, AR(dp*cp*tp) 2"});
  expectLayer({"TP + split D over x", "dp = 2, x = 2, tp = 2", b + tp + "split (D) over (x)\n", "AR(tp) 2, AR(x) 7",
               "AR(tp) 2, AR(x) 4", "AR(dp) 9"});
  expectLayer({"V only", "dp = 2, tp = 2", b + "split (V) over (tp)\n", "", "", "AR(dp) 9"});
}

TEST(Tables, MoreRanksThanHeads) {
  LlamaText text;
  text.sizes = "B = 4, S = 8, D = 8, KV = 2, R = 4, Dh = 4, F = 8, V = 8";
  std::string tp = "split (KV or replicate, R or replicate, H or replicate, F, V) over (tp)\n";
  expectLayer({"GQA tp > KV, TP", "tp = 4", tp, "AR(tp'*tp'') 2", "AR(tp'') 2, AR(tp'*tp'') 2", ""}, text);
  expectLayer({"same + SP", "tp = 4", tp + kSp, "AG(tp'*tp'') 2, RS(tp'*tp'') 2",
               "AG(tp'*tp'') 4, AR(tp'') 2, RS(tp'*tp'') 2", "AR(tp'*tp'') 2"},
              text);
}

TEST(Tables, PalmLayer) {
  LlamaText text;
  text.parallel = true;
  std::string b = kB, tp = kTp;
  expectLayer({"PaLM TP", "dp = 2, tp = 2", b + tp, "AR(tp) 1", "AR(tp) 1", "AR(dp) 8"}, text);
  // The model gathers the cotangent of the block once for attention and once for the ffn; it is one value, and gathered
  // once.
  expectLayer({"PaLM TP+SP", "dp = 2, tp = 2", b + tp + kSp, "AG(tp) 1, RS(tp) 1", "AG(tp) 2, RS(tp) 1",
               "AR(dp) 7, AR(dp*tp) 1"},
              text);
}

// Outside the layers: lookup, norm, logits, cross-entropy.
TEST(Tables, Ends) {
  std::string b = kB, tp = kTp, sp = kSp;
  LlamaText text;
  text.mesh = "dp = 2, tp = 2";
  text.plan = b + tp;
  Compiled plain(stg::test::text(text));
  EXPECT_EQ(plain.collectives("first", true), "AR(tp) 1");
  EXPECT_EQ(plain.collectives("last", true), "AR(tp) 2, AR-max(tp) 1");
  EXPECT_EQ(plain.collectives("first", false), "");
  EXPECT_EQ(plain.collectives("last", false), "AR(tp) 1");
  text.plan += sp;
  Compiled sequence(stg::test::text(text));
  EXPECT_EQ(sequence.collectives("first", true), "RS(tp) 1");
  EXPECT_EQ(sequence.collectives("last", true), "AG(tp) 1, AR-max(tp) 1, RS(tp) 2");
  EXPECT_EQ(sequence.collectives("first", false), "AG(tp) 1");
  // Activations: the norm again. [B, S] in size: what the sum of exponentials gets. (The model gathers what the picked
  // logit gets as well; that is a constant, which needs no collective.)
  EXPECT_EQ(sequence.collectives("last", false), "AG(tp) 2, RS(tp) 1");
  EXPECT_EQ(sequence.step("first"), "AR(dp) 1");
  EXPECT_EQ(sequence.step("last"), "AR(dp) 1, AR(dp*tp) 1");
}

// Kundu et al. 2025 (STAGE), Table III: a linear layer under each strategy.
TEST(Tables, LinearLayerOfThePaper) {
  auto layouts = [](const std::string &axis, const std::string &plan) {
    Compiled compiled("stgir differentiated\nprogram p mode forward\nmesh " + axis +
                      " = 4\nsizes B = 8, H = 8, G = 32\n" + plan + R"(
      input x : bf16[B, H]
      body front { input x : bf16[B, H] %x : bf16[B, H] = input x kernel 0
        %t : bf16[B, H] = tanh(%x) kernel 1 output x = %t }
      body linear { input x : bf16[B, H] weight w : bf16[H, G]
        %x : bf16[B, H] = input x kernel 0 %w : bf16[H, G] = weight w kernel 0
        %y : bf16[B, G] = contract(%x, %w) sum(H) kernel 1
        %z : bf16[B, G] = relu(%y) kernel 2 output z = %z }
      unit @front : front(x = input x)
      unit @linear : linear(x = @front:x))");
    std::string text;
    const Body &body = compiled.body("linear");
    for (const char *name : {"x", "w", "y"})
      for (const Value &value : body.values)
        if (compiled.program->text(value.name) == name)
          text += (text.empty() ? "" : " ") + std::string(name) +
                  toString(*value.layout, value.type->dims, compiled.program->mesh.atoms(),
                           compiled.program->context->names);
    return text;
  };
  EXPECT_EQ(layouts("dp", "split (B) over (dp)\n"), "x[B/dp, H] w[H, G] y[B/dp, G]");
  EXPECT_EQ(layouts("tp", "split (H) over (tp)\n"), "x[B, H/tp] w[H/tp, G] y[B, G @ tp]");
  EXPECT_EQ(layouts("tp", "split (G) over (tp)\n"), "x[B, H] w[H, G/tp] y[B, G/tp]");
  EXPECT_EQ(layouts("hp", "split (G) over (hp)\nsplit (B) over (hp)\n"), "x[B/hp, H] w[H, G/hp] y[B, G/hp]");
}

} // namespace
