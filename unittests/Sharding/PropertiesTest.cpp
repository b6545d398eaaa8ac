//===- PropertiesTest.cpp - what holds for every plan ----------------------------===//
#include "Sharding/Compiled.h"
#include "Sharding/LlamaProgram.h"
#include "stg/IR/Printer.h"
#include <random>

using namespace stg;
using namespace stg::test;

namespace {

/// One to seven rules without scopes, then one per axis that finds a dim wherever there is one, so that none is idle.
std::vector<SplitRule> randomRules(std::mt19937 &random, IRContext &context) {
  // No Dh: attention has it whole.
  const std::vector<std::vector<const char *>> dims = {{"B"}, {"S"}, {"KV", "R", "H"}, {"KV"}, {"F"}, {"D"}, {"V"}};
  const char *axes[] = {"p", "q", "r"};
  std::vector<SplitRule> rules;
  auto add = [&](const std::vector<const char *> &names, const char *axis) {
    SplitRule &rule = rules.emplace_back();
    for (const char *name : names)
      rule.dims.push_back({context.name(name)});
    rule.axes = {axis};
  };
  for (unsigned i = 0, n = 1 + static_cast<unsigned>(random() % 7); i < n; ++i)
    add(dims[random() % dims.size()], axes[random() % 3]);
  for (const char *axis : axes)
    add({"B"}, axis);
  return rules;
}

// Language 5.8: without scopes, and where all sizes divide, operands are only sliced and gathered, results only
// reduced.
TEST(Properties, NoAllToAllWithoutScopes) {
  std::mt19937 random(1);
  LlamaText text;
  text.layers = 1;
  text.mesh = "p = 2, q = 2, r = 2";
  text.sizes = "B = 8, S = 8, D = 8, KV = 8, R = 8, Dh = 8, F = 8, V = 8";
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> base = readProgram(sources.addBuffer("llama.stgir", stg::test::text(text)), diags);
  ASSERT_TRUE(base);
  for (int i = 0; i < 3000; ++i) {
    Program program = *base;
    program.plan.splits = randomRules(random, *program.context);
    ASSERT_EQ(runPasses(program, {PassId::AssignLayouts, PassId::InsertCollectives}, diags, nullptr,
                        i % 20 ? VerifyPasses::Never : VerifyPasses::AfterEach),
              Outcome::Done);
    for (const Body &body : program.bodies)
      for (const Op &op : body.ops)
        ASSERT_NE(op.kind, OpKind::AllToAll) << toString(program);
  }
}

// The work of a pass does not depend on the number of layers or ranks.
TEST(Properties, CostLaw) {
  auto visits = [](int layers, const std::string &mesh) {
    LlamaText text;
    text.layers = layers;
    text.mesh = mesh;
    text.sizes = "B = 1024, S = 16, D = 8, KV = 8, R = 2, Dh = 4, F = 64, V = 64";
    text.plan = "split (B) over (dp)\nsplit (KV, R, H, F, V) over (tp)\nsplit (S) over (tp)\n";
    SourceManager sources;
    Diagnostics diags(sources);
    std::optional<Program> program = readProgram(sources.addBuffer("l.stgir", stg::test::text(text)), diags);
    std::vector<PassRun> runs;
    EXPECT_EQ(runPasses(*program, {PassId::AssignLayouts, PassId::InsertCollectives}, diags, &runs), Outcome::Done);
    return std::pair(runs[0].stats.opVisits, runs[1].stats.opVisits);
  };
  auto expected = visits(32, "dp = 2, tp = 4");
  EXPECT_EQ(visits(128, "dp = 2, tp = 4"), expected);
  EXPECT_EQ(visits(32, "dp = 1024, tp = 8"), expected);
}

} // namespace
