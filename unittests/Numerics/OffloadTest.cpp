//===- OffloadTest.cpp - steps that keep tensors in the memory of the host ---===//
// Whatever a plan offloads, a step on simulated ranks has the numbers of one device that keeps everything. The
// interpreter knows what is on the host: it loads nothing else, and computes with nothing that is not loaded.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "StepPlans.h"
#include "stg/Analysis/Cost.h"
#include "stg/Analysis/Storage.h"
#include "stg/IR/LayoutOps.h"
#include "gtest/gtest.h"
#include <map>

namespace stg {
namespace {

/// `wte` is read at both ends.
const std::string kModel = "use std.attention.{gqa}\nuse std.ffn.{swiglu}\nuse std.norm.{rmsnorm}\n"
                           "use std.loss.{xent}\nuse std.optim.{adamw}\n"
                           "model m(L = 2, B = 2, S = 8, D = 8, H = 4, KV = 2, Dh = 2, F = 8, V = 8) {\n"
                           "  input ids[B, S]: i32, target[B, S]: i32\n"
                           "  weight wte[V, D]\n"
                           "  x = lookup(ids, wte)\n"
                           "  repeat L as blocks {\n"
                           "    x = x + attn: gqa(norm1: rmsnorm(x); H, KV, Dh)\n"
                           "    x = x + ffn: swiglu(norm2: rmsnorm(x); F)\n"
                           "  }\n"
                           "  loss xent(sum(D) norm_f: rmsnorm(x) * wte, target)\n}\n";

constexpr PlanCase kPlans[] = {
    kOne,
    kDp2,
    {"Zero1", "mesh dp = 2\n  split B over dp\n  zero 1 over dp", 2, 2},
    kZero3,
    {"Zero3Held", "mesh dp = 2\n  split B over dp\n  zero 3 over dp { regather = false, sync = step }", 2, 2},
    {"Zero3Recompute", "mesh dp = 2\n  split B over dp\n  zero 3 over dp\n  recompute attend, ffn", 2, 2},
    kTp2Sp,
    kPipe1F1B,
    kPipeZb,
};

struct RuleCase {
  const char *name, *rules;
};
constexpr RuleCase kRules[] = {
    {"Optimizer", "offload optimizer to host"},
    {"Moment", "offload moment to host"},
    {"Master", "offload master to host { prefetch = 2 }"},
    {"Weight", "offload weight to host"},
    {"Act", "offload act to host"},
    {"ActOfAttention", "offload act to host in attn { overlap = false }"},
    {"OneBlock", "offload weight, act to host in blocks[1]\n  offload optimizer to host in wte"},
    {"All", "offload optimizer, weight, act to host"},
};

std::string textOf(const PlanCase &plan, const std::string &rules) {
  std::string name = plan.name;
  int microBatches = name.starts_with("Pipe") ? 4 : 2;
  return kModel + "plan p {\n  " + plan.rules + "\n  " + rules + "\n  microbatch 2\n}\nworkload w {\n" +
         "  model m(B = " + std::to_string(2 * plan.batchRanks * microBatches) + ")\n  plan p\n  ranks " +
         std::to_string(plan.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
}

class Offload : public testing::TestWithParam<std::tuple<PlanCase, RuleCase>> {};

TEST_P(Offload, AStepHasTheNumbersOfOneDevice) {
  auto [plan, rule] = GetParam();
  std::string text = textOf(plan, rule.rules);
  SplitProgram programs = splitProgram(text);
  ASSERT_TRUE(programs.split) << programs.messages << text;
  interp::InterpInputs inputs;
  inputs.seed = 3;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  EXPECT_EQ(comparison.onRanks.gradients.size(), comparison.onRanks.weights.size());
  size_t transfers = 0;
  for (const Body &body : programs.split->bodies)
    for (const Op &op : body.ops)
      transfers += isHostTransfer(op.kind);
  EXPECT_NE(transfers, 0u);
}

/// Every rule under every plan; in checked builds each a few times.
std::vector<std::tuple<PlanCase, RuleCase>> cases() {
#ifdef STG_CHECKED
  constexpr size_t kStride = 5;
#else
  constexpr size_t kStride = 1;
#endif
  std::vector<std::tuple<PlanCase, RuleCase>> list;
  for (size_t plan = 0; plan < std::size(kPlans); ++plan)
    for (size_t rule = 0; rule < std::size(kRules); ++rule)
      if ((plan + rule) % kStride == 0)
        list.push_back({kPlans[plan], kRules[rule]});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Offload, testing::ValuesIn(cases()), [](const auto &info) {
  return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
});

const Body &bodyOf(const Program &program, llvm::StringRef unit) {
  for (const Unit &each : program.units)
    if (program.unitPath(each) == unit)
      return program.body(each);
  ADD_FAILURE() << "no unit " << unit.str();
  return program.bodies.front();
}

/// Transfers of a body by mnemonic and part.
std::map<std::string, int> transfersOf(const Body &body) {
  std::map<std::string, int> counts;
  for (const Op &op : body.ops)
    if (isHostTransfer(op.kind))
      ++counts[mnemonic(op.kind).str() + " " + spelling(op.part).str()];
  return counts;
}

using Counts = std::map<std::string, int>;

TEST(OffloadTransfers, OneOfEachUnitAndTime) {
  auto counts = [](const char *rule) {
    SplitProgram programs = splitProgram(textOf(kPlans[3], rule));
    EXPECT_TRUE(programs.split) << programs.messages;
    return programs.split ? transfersOf(bodyOf(*programs.split, "blocks[1]")) : Counts();
  };
  EXPECT_EQ(counts("offload optimizer to host"), (Counts{{"load step", 1}, {"store step", 1}}));
  EXPECT_EQ(counts("offload weight to host"), (Counts{{"load forward", 1}, {"load input-grad", 1}, {"store step", 1}}));
  EXPECT_EQ(counts("offload act to host"), (Counts{{"load input-grad", 1}, {"store forward", 1}}));
  EXPECT_EQ(counts("offload weight to host in blocks[0]"), Counts());
}

int64_t numberOf(DimExpr value) { return value.size().value_or(-1); }

TEST(OffloadTransfers, WhatRestsOnTheHostIsNotOnTheDevice) {
  for (const PlanCase &plan : kPlans) {
    SCOPED_TRACE(plan.name);
    SplitProgram none = splitProgram(textOf(plan, "")), optimizer = splitProgram(textOf(plan, kRules[0].rules)),
                 weight = splitProgram(textOf(plan, kRules[3].rules));
    ASSERT_TRUE(none.split && optimizer.split && weight.split);
    StoredBytes before = storedBytes(*none.split), states = storedBytes(*optimizer.split),
                weights = storedBytes(*weight.split);
    EXPECT_EQ(numberOf(before.host), 0);
    EXPECT_EQ(numberOf(states.optimizer), 0);
    EXPECT_EQ(numberOf(states.host), numberOf(before.optimizer));
    EXPECT_EQ(numberOf(states.weights), numberOf(before.weights));
    EXPECT_EQ(numberOf(weights.weights), 0);
    EXPECT_EQ(numberOf(weights.host), numberOf(before.weights));
    EXPECT_EQ(numberOf(weights.optimizer), numberOf(before.optimizer));
  }
}

/// The backward reads no value of the forward that a store has taken, and nothing else is loaded.
TEST(OffloadTransfers, BackwardReadsWhatIsLoaded) {
  SplitProgram programs = splitProgram(textOf(kPlans[1], "offload act to host in blocks"));
  ASSERT_TRUE(programs.split) << programs.messages;
  const Body &body = bodyOf(*programs.split, "blocks[0]");
  size_t loaded = 0;
  for (const Op &op : body.ops)
    for (ValueId value : op.operands) {
      const Op &maker = body.op(body.value(value).def);
      bool isShown = maker.kind == OpKind::Input && body.inputs[maker.get<SlotFields>().slot].role == SlotRole::Value;
      bool isLeaf = maker.kind == OpKind::Weight || maker.kind == OpKind::Constant;
      if (isBackward(op.part) && op.kind != OpKind::Load) {
        EXPECT_FALSE(isShown) << programs.split->text(body.value(value).name).str();
        EXPECT_TRUE(isBackward(maker.part) || maker.kind == OpKind::Input || isLeaf)
            << programs.split->text(body.value(value).name).str();
      }
      loaded += op.kind == OpKind::Load;
    }
  EXPECT_GT(loaded, 10u);
}

TEST(OffloadTransfers, ALoadOfWhatWasNotStoredIsAFault) {
  SplitProgram programs = splitProgram(textOf(kPlans[1], "offload act to host"));
  ASSERT_TRUE(programs.split) << programs.messages;
  for (Body &body : programs.split->bodies)
    for (Op &op : body.ops)
      if (op.kind == OpKind::Load)
        for (ValueId &value : op.operands) {
          const Op &store = body.op(body.value(value).def);
          value = store.operands[body.value(value).result];
        }
  interp::InterpInputs inputs;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_NE(comparison.difference.find("reads from the host what was not stored there"), std::string::npos)
      << comparison.difference;
}

} // namespace
} // namespace stg
