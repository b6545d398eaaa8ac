//===- ParserTest.cpp - texts and the AST they become ---------------------===//
#include "ParseFixture.h"

namespace stg {
namespace {

using namespace ast;

template <class T> const T *itemAt(const Parsed &parsed, size_t i) {
  return parsed.file && i < parsed.file->items.size() ? llvm::dyn_cast<T>(parsed.file->items[i]) : nullptr;
}

/// The value of `let x = <text>`.
struct ParsedExpr : Parsed {
  explicit ParsedExpr(std::string text) : Parsed("stg 1\nlet x = " + text + "\n") {}
  template <class T> const T *as() const {
    auto *constant = itemAt<ConstantItem>(*this, 0);
    return constant ? llvm::dyn_cast<T>(constant->value) : nullptr;
  }
};

TEST(Parser, readsALayer) {
  Parsed parsed("stg 1\n\n## Doc.\n## More.\nlayer f(x[..., D]: bf16?; F = 4 * D, act: layer) -> y[..., D] {\n"
                "  weight w[D, F], v[F, D]: f32\n"
                "  y[..., D]: f32 = sum(D) x * w\n"
                "  return y\n}\n");
  EXPECT_EQ(parsed.messages(), "");
  auto *layer = itemAt<LayerItem>(parsed, 0);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->kind, ItemKind::Layer);
  EXPECT_EQ(layer->name.text, "f");
  EXPECT_EQ(layer->doc, "Doc.\nMore.");
  ASSERT_EQ(layer->signature.tensors.size(), 1u);
  EXPECT_TRUE(layer->signature.tensors[0].optional);
  EXPECT_EQ(layer->signature.tensors[0].dtype.text, "bf16");
  ASSERT_EQ(layer->signature.statics.size(), 2u);
  EXPECT_EQ(layer->signature.statics[1].type.text, "layer");
  ASSERT_EQ(layer->body.stmts.size(), 3u);
  auto *assign = llvm::cast<AssignStmt>(layer->body.stmts[1]);
  EXPECT_EQ(parsed.sources.text(assign->range), "y[..., D]: f32 = sum(D) x * w");
  auto *reduce = llvm::cast<ReduceExpr>(assign->value);
  EXPECT_EQ(parsed.sources.text(reduce->headRange), "sum(D)");
  EXPECT_TRUE(llvm::isa<ChainExpr>(reduce->operand));
}

TEST(Parser, chainsAreFlatAndParenthesesNest) {
  ParsedExpr flat("a + b - c * d / e + f");
  auto *sum = flat.as<ChainExpr>();
  ASSERT_TRUE(sum);
  ASSERT_EQ(sum->terms.size(), 4u);
  EXPECT_EQ(sum->terms[1].op, ChainOp::Add);
  EXPECT_EQ(sum->terms[2].op, ChainOp::Sub);
  EXPECT_EQ(llvm::cast<ChainExpr>(sum->terms[2].value)->terms.size(), 3u);

  ParsedExpr nested("(a + b) + c");
  ASSERT_TRUE(nested.as<ChainExpr>());
  EXPECT_EQ(nested.as<ChainExpr>()->terms.size(), 2u);
}

TEST(Parser, aReductionTakesTheProductBehindIt) {
  ParsedExpr parsed("2 * sum(D) x * w + b");
  auto *sum = parsed.as<ChainExpr>();
  ASSERT_TRUE(sum && sum->isSum());
  auto *product = llvm::cast<ChainExpr>(sum->terms[0].value);
  ASSERT_EQ(product->terms.size(), 2u);
  auto *reduce = llvm::cast<ReduceExpr>(product->terms[1].value);
  EXPECT_EQ(parsed.sources.text(reduce->operand->range), "x * w");
}

TEST(Parser, staticArgumentsStandAfterTheSemicolon) {
  ParsedExpr parsed("attn: gqa(norm1: rmsnorm(x); H, KV = 8)");
  auto *call = parsed.as<CallExpr>();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->label.text, "attn");
  ASSERT_EQ(call->args.size(), 3u);
  EXPECT_FALSE(call->args[0].afterSemicolon);
  EXPECT_TRUE(call->args[1].afterSemicolon);
  EXPECT_EQ(call->args[2].name.text, "KV");
}

TEST(Parser, aScheduleMayBeginWithADigit) {
  Parsed parsed(
      "stg 1\nplan p {\n  pipeline over pp { schedule 1f1b }\n  pipeline over pp { schedule 1f1b(a, b = 2) }\n}\n");
  EXPECT_EQ(parsed.messages(), "");
  auto *plan = itemAt<PlanItemDecl>(parsed, 0);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->body.items.size(), 2u);
  const Config &bare = *llvm::cast<PlanPipeline>(plan->body.items[0])->schedule;
  EXPECT_EQ(bare.name.text, "1f1b");
  EXPECT_EQ(parsed.sources.text(bare.range), "1f1b");
  const Config &called = *llvm::cast<PlanPipeline>(plan->body.items[1])->schedule;
  EXPECT_EQ(called.name.text, "1f1b");
  EXPECT_EQ(called.args.size(), 2u);
  EXPECT_EQ(parsed.sources.text(called.range), "1f1b(a, b = 2)");
}

TEST(Parser, aSumOf100000TermsIsOneFlatChain) {
  std::string text = "x";
  for (int i = 1; i < 100000; ++i)
    text += i % 20 == 0 ? " +\n  x" : " + x";
  ParsedExpr parsed(text);
  EXPECT_EQ(parsed.messages(), "");
  ASSERT_TRUE(parsed.as<ChainExpr>());
  EXPECT_EQ(parsed.as<ChainExpr>()->terms.size(), 100000u);
}

} // namespace
} // namespace stg
