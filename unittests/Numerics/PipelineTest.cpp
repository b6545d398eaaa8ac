//===- PipelineTest.cpp - pipelined steps on simulated ranks ----------------===//
// A step of each schedule, run action by action on the ranks of its pipeline, has the numbers of the same model without
// a pipeline on one device: losses, gradients, optimizer states and clipped AdamW's new weights.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "stg/IR/Schedule.h"
#include "gtest/gtest.h"
#include <cmath>

namespace stg {
namespace {

const std::string kUses = "use std.attention.{gqa, mha}\nuse std.ffn.{mlp, swiglu}\nuse std.norm.{layernorm, rmsnorm}\n"
                          "use std.loss.{xent}\nuse std.optim.{adamw}\n";

/// GPT-3 in small: the first and the last stage read `wte`.
const std::string kTied = "model m(L = 4, B = 2, S = 2, D = 4, H = 2, Dh = 2, F = 4, V = 6, attention = true) {\n"
                          "  input ids[B, S]: i32, target[B, S]: i32\n"
                          "  weight wte[V, D], wpe[S, D]\n"
                          "  x = lookup(ids, wte) + wpe\n"
                          "  repeat L as blocks {\n"
                          "    if attention { x = x + attn: mha(norm1: layernorm(x); H, Dh) }\n"
                          "    x = x + ffn: mlp(norm2: layernorm(x); F, bias = true)\n"
                          "  }\n"
                          "  logits = sum(D) norm_f: layernorm(x) * wte\n"
                          "  output logits\n"
                          "  loss xent(logits, target)\n}\n";

/// Every stage reads `x0`, `e` and `gain`; two have a loss.
const std::string kSkips = "model m(L = 4, B = 2, S = 2, D = 4, F = 4, V = 6) {\n"
                           "  input ids[B, S]: i32, target[B, S]: i32\n"
                           "  weight wte[V, D], head[V, D], gain[D]\n"
                           "  x0 = lookup(ids, wte)\n"
                           "  x = x0\n"
                           "  e = exp(x0 * 0.5)\n"
                           "  unit early {\n"
                           "    x = x + ffn: mlp(norm1: layernorm(x); F)\n"
                           "    loss xent(sum(D) x * wte, target)\n"
                           "  }\n"
                           "  repeat L as blocks {\n"
                           "    x = x + ffn: swiglu(norm1: rmsnorm(x * e); F) + x0\n"
                           "    x = x * gain\n"
                           "  }\n"
                           "  loss xent(sum(D) (x + e) * head, target)\n}\n";

struct Axes {
  const char *mesh = "pp", *splits = "";
  int ranks = 1, batchRanks = 1;
};
const Axes kNone;
const Axes kTp = {"pp, tp = 2", "  split H, F, V over tp\n", 2, 1};
const Axes kDp = {"pp, dp = 2", "  split B over dp\n", 2, 2};
const Axes kBoth = {"dp = 2, pp, tp = 2", "  split B over dp\n  split H, F, V over tp\n  split S over tp\n", 4, 2};

struct StepCase {
  std::string schedule; ///< as plans write it
  uint32_t ranks, microBatches;
  const std::string *model = &kTied;
  std::string sizes = {}; ///< of the model
  Axes axes = kNone;      ///< beside the pipeline's
  const char *mode = "  train { optimizer = adamw, clip = 0.01 }\n";
};

std::string textOf(const StepCase &step, bool isCut) {
  std::string mesh = step.axes.mesh;
  mesh.insert(mesh.find("pp") + 2, " = " + std::to_string(isCut ? step.ranks : 1));
  std::string text = kUses + *step.model + "plan p {\n  mesh " + mesh + "\n" + step.axes.splits;
  if (isCut)
    text += "  pipeline over pp {\n    schedule " + step.schedule + "\n    cut even\n  }\n";
  text += "  microbatch 2\n}\nworkload w {\n  model m(B = " +
          std::to_string(2 * static_cast<uint32_t>(step.axes.batchRanks) * step.microBatches) + step.sizes +
          ")\n  plan p\n  ranks " + std::to_string(step.axes.ranks * static_cast<int>(isCut ? step.ranks : 1)) + "\n" +
          step.mode + "}\n";
  return text;
}

void expectNear(const interp::NamedTensor &wanted, const interp::Tensor *got) {
  ASSERT_TRUE(got) << wanted.name;
  ASSERT_EQ(got->data.size(), wanted.value.data.size()) << wanted.name;
  double largest = 0;
  for (double element : wanted.value.data)
    largest = std::max(largest, std::fabs(element));
  for (size_t i = 0; i < got->data.size(); ++i)
    EXPECT_NEAR(got->data[i], wanted.value.data[i], 1e-9 * largest + 1e-12) << wanted.name;
}

interp::RankComparison compare(const StepCase &step) {
  std::string text = textOf(step, true), plainText = textOf(step, false);
  SplitProgram plain = splitProgram(plainText), piped = splitProgram(text);
  EXPECT_TRUE(plain.split) << plain.messages << plainText;
  EXPECT_TRUE(piped.split) << piped.messages << text;
  if (!plain.split || !piped.split)
    return {};
  EXPECT_TRUE(piped.split->pipeline);
  interp::InterpInputs inputs;
  inputs.seed = 5;
  interp::RankComparison comparison = interp::compareRanks(*piped.whole, *piped.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  // What a step gives has no original: the model without a pipeline on one device stands for it.
  interp::InterpResult step = interp::interpret(*plain.split, inputs);
  for (const interp::NamedTensor &weight : step.weights)
    expectNear(weight, comparison.onRanks.weight(weight.name));
  for (const interp::NamedTensor &state : step.states)
    if (!llvm::StringRef(state.name).starts_with("step."))
      expectNear(state, comparison.onRanks.state(state.name));
  EXPECT_EQ(comparison.onRanks.weights.size(), step.weights.size());
  return comparison;
}

/// Every schedule, with as many micro-batches as ranks and twice as many, where it allows them.
std::vector<StepCase> cases() {
  struct Sizes {
    uint32_t ranks, microBatches;
    std::vector<Axes> axes;
  };
  const std::vector<Sizes> kSizes = {
      {2, 2, {kNone}}, {2, 4, {kNone, kTp, kDp, kBoth}}, {3, 6, {kNone}}, {4, 4, {kTp, kDp}}, {4, 8, {kNone}}};
  const std::vector<Sizes> kTwoWay = {{2, 4, {kNone, kTp, kDp, kBoth}}, {4, 8, {kNone, kTp, kDp}}};
#ifdef STG_CHECKED // with sanitizers every second
  constexpr size_t kStride = 2;
#else
  constexpr size_t kStride = 1;
#endif
  std::vector<StepCase> all;
  for (ScheduleKind kind : kScheduleKinds) {
    bool isInterleaved = kind == ScheduleKind::Interleaved || kind == ScheduleKind::InterleavedZeroBubble;
    bool isV = kind == ScheduleKind::ZeroBubbleV || kind == ScheduleKind::DualPipeV;
    bool isTwoWay = kind == ScheduleKind::DualPipe || kind == ScheduleKind::DualPipeV;
    size_t number = static_cast<size_t>(kind); // so that schedules take different ones
    for (const Sizes &sizes : isTwoWay ? kTwoWay : kSizes)
      for (const Axes &axes : sizes.axes) {
        if (number++ % kStride != 0)
          continue;
        all.push_back({.schedule = nameOf(kind).str() + (isInterleaved ? "(chunks = 2)" : ""),
                       .ranks = sizes.ranks,
                       .microBatches = sizes.microBatches,
                       .sizes = ", L = " + std::to_string(sizes.ranks * (isInterleaved || isV ? 2 : 1)) +
                                (sizes.ranks > 2 ? ", attention = false" : ""),
                       .axes = axes});
      }
  }
  return all;
}

class PipelineStep : public testing::TestWithParam<StepCase> {};

TEST_P(PipelineStep, HasTheNumbersOfOneDevice) {
  interp::RankComparison comparison = compare(GetParam());
  EXPECT_EQ(comparison.onRanks.losses.size(), GetParam().microBatches);
  EXPECT_EQ(comparison.onRanks.gradients.size(), comparison.onRanks.weights.size());
  EXPECT_GT(comparison.shared, 100u);
}

std::string nameOfCase(const testing::TestParamInfo<StepCase> &info) {
  const StepCase &step = info.param;
  std::string name =
      step.schedule + "P" + std::to_string(step.ranks) + "M" + std::to_string(step.microBatches) + step.axes.mesh;
  std::erase_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return name;
}
INSTANTIATE_TEST_SUITE_P(Schedules, PipelineStep, testing::ValuesIn(cases()), nameOfCase);

class PipelineSkips : public testing::TestWithParam<const char *> {};

TEST_P(PipelineSkips, HasTheNumbersOfOneDevice) {
  interp::RankComparison comparison =
      compare({GetParam(), 2, 4, &kSkips, "", {"pp, tp = 2", "  split F, V over tp\n", 2}});
  EXPECT_EQ(comparison.onRanks.losses.size(), 8u);
}
INSTANTIATE_TEST_SUITE_P(Schedules, PipelineSkips,
                         testing::Values("1f1b", "interleaved_1f1b(chunks = 2)", "zb_v", "zb_h1", "dualpipe"));

TEST(PipelineFaults, EachTransferAndSumIsNeeded) {
  SplitProgram programs = splitProgram(textOf({"dualpipe", 2, 4, &kSkips}, true));
  ASSERT_TRUE(programs.split) << programs.messages;
  auto isRefused = [](const Program &program) {
    try {
      interp::interpret(program, {}, interp::KeepValues::None, interp::Machine::Ranks);
      return false;
    } catch (const interp::InterpFault &) {
      return true;
    }
  };
  const Pipeline &pipeline = *programs.split->pipeline;
  EXPECT_FALSE(isRefused(*programs.split));
  EXPECT_GE(pipeline.transfers.size(), 4u);
  for (size_t i = 0; i < pipeline.transfers.size(); ++i) {
    Program program = *programs.split;
    program.pipeline->transfers.erase(program.pipeline->transfers.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(isRefused(program)) << i;
  }
  EXPECT_GE(pipeline.sums.size(), 8u);
  for (size_t i = 0; i < pipeline.sums.size(); ++i) {
    Program program = *programs.split;
    program.pipeline->sums.erase(program.pipeline->sums.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(isRefused(program)) << i;
  }
}

TEST(PipelineStored, RanksOfThePipelineAreCopiesBeforeTheSchedule) {
  SplitProgram programs = splitProgram(textOf({"dualpipe", 2, 4, &kSkips, "", kDp}, true));
  ASSERT_TRUE(programs.split) << programs.messages;
  programs.split->level = Level::Stored;
  EXPECT_EQ(interp::compareRanks(*programs.whole, *programs.split, {}).difference, "");
}

TEST(PipelineForward, HasTheNumbersOfOneDevice) {
  for (const char *schedule : {"1f1b", "interleaved_1f1b(chunks = 2)", "zb_v", "dualpipe"}) {
    interp::RankComparison comparison = compare({schedule, 2, 4, &kTied, "", kNone, ""});
    EXPECT_EQ(comparison.onRanks.outputs.size(), 4u);
    EXPECT_TRUE(comparison.onRanks.gradients.empty());
  }
}

TEST(PipelineForward, CachesAreWhereTheirStagesAre) {
  interp::RankComparison comparison = compare({"1f1b", 2, 1, &kTied, "", kTp, "  prefill\n"});
  EXPECT_EQ(comparison.onRanks.states.size(), 8u);
}

} // namespace
} // namespace stg
