//===- RecomputeTest.cpp - steps that compute forward values again -----------===//
// Whatever a plan says to recompute, a step on simulated ranks has the numbers of one device that keeps everything, and
// costs exactly the FLOPs of what it computes again more.
//===----------------------------------------------------------------------===//
#include "RandomModel.h"
#include "RandomProgram.h"
#include "SplitProgram.h"
#include "StepPlans.h"
#include "stg/Analysis/Cost.h"
#include "gtest/gtest.h"
#include <map>
#include <random>
#include <set>

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

/// With dropout behind both halves of a block, and on the scores of an attention whose steps are statements.
const std::string kGpt = "layer core(q[B, S, H, Dh], k[B, S, H, Dh], v[B, S, H, Dh]) -> [B, S, H, Dh] {\n"
                         "  score = (sum(Dh) q * k[S as T]) / sqrt(Dh)\n"
                         "  shares = dropout(softmax(T) masked(score; causal, S, T); 0.2)\n"
                         "  return sum(T) shares * v[S as T]\n}\n"
                         "layer attention(x[B, S, D]; H, Dh) -> [B, S, D] {\n"
                         "  weight wq[D, H, Dh], wk[D, H, Dh], wv[D, H, Dh], wo[H, Dh, D]\n"
                         "  q = sum(D) x * wq\n"
                         "  k = sum(D) x * wk\n"
                         "  v = sum(D) x * wv\n"
                         "  o = attend: core(q, k, v)\n"
                         "  return sum(H, Dh) o * wo\n}\n"
                         "model m(L = 2, B = 2, S = 8, D = 8, H = 4, Dh = 2, F = 8, V = 8) {\n"
                         "  input ids[B, S]: i32, target[B, S]: i32\n"
                         "  weight wte[V, D], wpe[S, D]\n"
                         "  x = dropout(lookup(ids, wte) + wpe; 0.1)\n"
                         "  repeat L as blocks {\n"
                         "    x = x + dropout(attn: attention(norm1: layernorm(x); H, Dh); 0.1)\n"
                         "    x = x + dropout(ffn: mlp(norm2: layernorm(x); F, bias = true); 0.3)\n"
                         "  }\n"
                         "  loss xent(sum(D) norm_f: layernorm(x) * wte, target)\n}\n";

constexpr PlanCase kPlans[] = {
    kOne,
    kDp2,
    kTp2,
    kTp2Sp,
    kTp2SpGathered,
    kCp2,
    kDp2Cp2Tp2Sp,
    kPipe1F1B,
    kZero3,
    {"Zero2Tp2Sp",
     "mesh dp = 2, tp = 2\n  split B over dp\n  split H, F, V over tp\n  split S over tp\n  zero 2 over dp", 4, 2},
    {"PipeZero3", "mesh pp = 2, dp = 2\n  split B over dp\n  zero 3 over dp\n  pipeline over pp { schedule 1f1b }", 4,
     2},
    kPipeZb,
};

struct RuleCase {
  const char *name, *rules;
};
constexpr RuleCase kRules[] = {
    {"All", "recompute all"},
    {"Blocks", "recompute blocks"},
    {"BlocksWhole", "recompute blocks { early_stop = false }"},
    {"BlocksKeptComm", "recompute blocks { comm = keep }"},
    {"FirstBlock", "recompute blocks[0]"},
    {"Attend", "recompute attend"},
    {"Norms", "recompute norm1, norm2, norm_f"},
    {"Ffn", "recompute ffn"},
    {"Values", "recompute attn.q, attn.v"},
    {"Mixed", "recompute attn { comm = keep }\n  recompute ffn { early_stop = false }\n  recompute all"},
};

std::string textOf(const std::string &model, const PlanCase &plan, const std::string &recompute) {
  std::string name = plan.name;
  int microBatches = name.starts_with("Pipe") ? 4 : 2;
  return kUses + model + "plan p {\n  " + plan.rules + "\n  " + recompute + "\n  microbatch 2\n}\nworkload w {\n" +
         "  model m(B = " + std::to_string(2 * plan.batchRanks * microBatches) + ")\n  plan p\n  ranks " +
         std::to_string(plan.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
}

bool isLeaf(OpKind kind) {
  return kind == OpKind::Input || kind == OpKind::Weight || kind == OpKind::Constant || kind == OpKind::Iota;
}
bool isView(OpKind kind) {
  return kind == OpKind::View || kind == OpKind::Stop || kind == OpKind::Broadcast || kind == OpKind::Shard ||
         kind == OpKind::Demote;
}

/// Forward values that the backward of a body reads, whatever part of it; views are looked through, and what lives
/// anyway is not counted.
std::set<uint32_t> keptBy(const Body &body) {
  std::set<uint32_t> kept;
  for (const Op &op : body.ops)
    if (isBackward(op.part))
      for (ValueId value : op.operands) {
        while (isView(body.op(body.value(value).def).kind))
          value = body.op(body.value(value).def).operands[body.value(value).result];
        const Op &made = body.op(body.value(value).def);
        const auto *moved = std::get_if<CollectiveFields>(&made.fields); // a gathered weight is not the rule's
        if (made.part == Part::Forward && !isLeaf(made.kind) && !(moved && moved->isStorage))
          kept.insert(value.index);
      }
  return kept;
}

double numberOf(DimExpr value) { return value.rational()->toDouble(); }

double keptBytes(const Program &program, const Body &body) {
  RankShare share(program);
  double bytes = 0;
  for (uint32_t value : keptBy(body))
    bytes += numberOf(share.bytesOf(body.values[value]));
  return bytes;
}

double flopsOf(const Program &program, const Body &body, const Op &op) {
  OpCost cost = RankShare(program).costOf(op, body);
  return numberOf(cost.contraction) + numberOf(cost.other);
}

/// FLOPs by body and part.
std::map<std::pair<std::string, Part>, double> flopsByPart(const Program &program) {
  std::map<std::pair<std::string, Part>, double> sums;
  for (const Unit &unit : program.units)
    for (const Op &op : program.body(unit).ops)
      sums[{program.unitPath(unit), op.part}] += flopsOf(program, program.body(unit), op);
  return sums;
}

/// Clones cost what their originals cost, and lie where those lie. Gives their number.
size_t checkClones(const Program &program, const Body &body) {
  std::map<std::string, const Op *> byName;
  for (const Op &op : body.ops)
    if (op.part == Part::Forward && !op.results.empty() && body.value(op.results[0]).name)
      byName[program.text(body.value(op.results[0]).name).str()] = &op;
  size_t count = 0;
  for (const Op &op : body.ops) {
    if (op.part != Part::Recompute)
      continue;
    ++count;
    std::string name = program.text(body.value(op.results[0]).name).str();
    if (name.empty())
      continue;
    EXPECT_TRUE(llvm::StringRef(name).ends_with("'r")) << name;
    const Op *original = byName[name.substr(0, name.size() - 2)];
    EXPECT_TRUE(original) << name;
    if (!original)
      continue;
    EXPECT_EQ(original->kind, op.kind) << name;
    EXPECT_EQ(original->scope, op.scope) << name;
    EXPECT_EQ(flopsOf(program, body, *original), flopsOf(program, body, op)) << name;
    EXPECT_EQ(body.value(original->results[0]).layout, body.value(op.results[0]).layout) << name;
  }
  return count;
}

class Recompute : public testing::TestWithParam<std::tuple<PlanCase, RuleCase, bool>> {};

TEST_P(Recompute, AStepHasTheNumbersOfOneDevice) {
  auto [plan, rule, isGpt] = GetParam();
  const std::string &model = isGpt ? kGpt : kLlama;
  std::string text = textOf(model, plan, rule.rules);
  SplitProgram kept = splitProgram(textOf(model, plan, "recompute none")), again = splitProgram(text);
  ASSERT_TRUE(kept.split) << kept.messages;
  ASSERT_TRUE(again.split) << again.messages << text;
  if (rule.name != std::string("Mixed")) { // attention keeps more than it saves where it keeps gathered tensors
    EXPECT_EQ(again.messages, "");
  }
  interp::InterpInputs inputs;
  inputs.seed = 3;
  interp::RankComparison comparison = interp::compareRanks(*again.whole, *again.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  EXPECT_EQ(comparison.onRanks.gradients.size(), comparison.onRanks.weights.size());

  size_t clones = 0;
  std::set<uint32_t> seen;
  for (size_t u = 0; u < again.split->units.size(); ++u) {
    const Body &body = again.split->body(again.split->units[u]), &before = kept.split->body(kept.split->units[u]);
    if (!seen.insert(again.split->units[u].body.index).second)
      continue;
    size_t here = checkClones(*again.split, body);
    clones += here;
    if (here != 0) {
      EXPECT_LT(keptBytes(*again.split, body), keptBytes(*kept.split, before)) << again.split->text(body.name).str();
    }
    bool isWhole = rule.rules == std::string("recompute all") ||
                   (llvm::StringRef(rule.name).starts_with("Blocks") && rule.name != std::string("BlocksKeptComm") &&
                    again.split->unitPath(again.split->units[u]).starts_with("blocks"));
    if (isWhole) {
      EXPECT_TRUE(keptBy(body).empty()) << again.split->text(body.name).str();
    }
  }
  EXPECT_GT(clones, 0u);
  // Nothing else becomes more or less.
  std::map<std::pair<std::string, Part>, double> flops = flopsByPart(*again.split);
  std::erase_if(flops, [](const auto &entry) { return entry.first.second == Part::Recompute; });
  EXPECT_EQ(flops, flopsByPart(*kept.split));
}

std::string nameOfCase(const testing::TestParamInfo<Recompute::ParamType> &info) {
  const auto &[plan, rule, isGpt] = info.param;
  return std::string(isGpt ? "Gpt" : "Llama") + plan.name + rule.name;
}
/// Every rule under every plan; in checked builds each plan and each rule a few times.
std::vector<std::tuple<PlanCase, RuleCase, bool>> cases() {
#ifdef STG_CHECKED
  constexpr size_t kStride = 11;
#else
  constexpr size_t kStride = 1;
#endif
  std::vector<std::tuple<PlanCase, RuleCase, bool>> list;
  for (size_t plan = 0; plan < std::size(kPlans); ++plan)
    for (size_t rule = 0; rule < std::size(kRules); ++rule)
      for (bool isGpt : {false, true})
        if ((3 * plan + rule + 2 * size_t{isGpt}) % kStride == 0)
          list.push_back({kPlans[plan], kRules[rule], isGpt});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Plans, Recompute, testing::ValuesIn(cases()), nameOfCase);

TEST(RecomputeCommunication, KeptResultsAreNotCommunicatedAgain) {
  auto collectives = [](const std::string &rule) {
    SplitProgram programs = splitProgram(textOf(kLlama, kPlans[3], rule));
    EXPECT_TRUE(programs.split) << programs.messages;
    std::map<Part, size_t> count;
    for (const Op &op : programs.split->body(programs.split->units[1]).ops)
      count[op.part] += op.kind == OpKind::AllGather || op.kind == OpKind::ReduceScatter;
    return count;
  };
  // Forward: gathers before attention and feed-forward, reduce-scatters behind them. The last one is not needed.
  EXPECT_EQ(collectives("recompute none")[Part::Recompute], 0u);
  EXPECT_EQ(collectives("recompute blocks")[Part::Recompute], 3u);
  EXPECT_EQ(collectives("recompute blocks { early_stop = false }")[Part::Recompute], 4u);
  EXPECT_EQ(collectives("recompute blocks { comm = keep }")[Part::Recompute], 0u);
}

TEST(RecomputeRandom, AStepHasTheNumbersOfOneDevice) {
#ifdef STG_CHECKED
  constexpr uint64_t kCount = 25;
#else
  constexpr uint64_t kCount = 150;
#endif
  uint64_t first = firstSeed(1), count = randomCount(kCount), ran = 0, recomputed = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    RandomModel model = randomModel(seed);
    std::mt19937_64 random(seed);
    auto chance = [&](uint64_t percent) { return random() % 100 < percent; };
    std::string rules;
    for (uint64_t i = 1 + random() % 3; i-- > 0;) {
      rules += "  recompute ";
      rules += model.labels.empty() || chance(30) ? "all" : model.labels[random() % model.labels.size()];
      rules += chance(60) ? "" : chance(50) ? " { comm = keep }" : " { early_stop = false }";
      rules += "\n";
    }
    bool isCut = chance(25);
    std::string text = model.text + randomPlan(seed, model, Rest::Replicate, isCut ? Cut::Always : Cut::Never);
    text.insert(text.find('\n', text.find("plan p {\n  mesh ") + 9) + 1, rules);
    SplitProgram programs = splitProgram(text);
    if (!programs.split) {
      bool isRefused = programs.messages.find("error[E3") != std::string::npos ||
                       programs.messages.find("error[E409") != std::string::npos;
      EXPECT_TRUE(isRefused) << "seed " << seed << ": " << programs.messages << text;
      continue;
    }
    interp::InterpInputs inputs;
    inputs.seed = seed;
    interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
    if (llvm::StringRef(comparison.difference).ends_with("is split unevenly, which is not run on ranks"))
      continue;
    EXPECT_EQ(comparison.difference, "") << "seed " << seed << "\n" << text;
    ++ran;
    for (const Body &body : programs.split->bodies)
      recomputed += checkClones(*programs.split, body) != 0;
  }
  EXPECT_GT(ran, count / 4);
  EXPECT_GT(recomputed, count / 8);
}

} // namespace
} // namespace stg
