//===- PipelineTest.cpp - programs on the ranks of a pipeline ---------------===//
// What the judge accepts and what it finds. Whole models stand in unittests/Numerics.
//===----------------------------------------------------------------------===//
#include "stg/IR/Reader.h"
#include "stg/Interp/CompareRanks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stg::interp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// y = x w + x on rank 0, loss = sum(y w) on rank 1: a tied weight. Rank 0 adds w sum(x) to its gradient, rank 1
/// (w + 1) sum(x).
const std::string kTied = R"(stgir scheduled
program tied mode train
mesh pp = 2, dp = 2
sizes B = 2
microbatches 2
input x : f32[B]
weight w : f32[]

body first {
  input x : f32[B] layout [B/dp]
  input dy : f32[B] cotangent of 0 layout [B/dp]
  weight w : f32[] shared trained layout [] buffer [@ dp]
  %x : f32[B] layout [B/dp] = input x kernel 0
  %w : f32[] layout [] = weight w kernel 0
  %p : f32[B] layout [B/dp] = mul(%x, %w) kernel 1
  %y : f32[B] layout [B/dp] = add(%p, %x) kernel 1
  %dy : f32[B] layout [B/dp] = input dy part input-grad kernel 2
  %dyx : f32[B] layout [B/dp] = mul(%dy, %x) part weight-grad kernel 3
  %dw : f32[] layout [@ dp] = reduce(%dyx) sum(B) part weight-grad kernel 3
  accumulate w(%dw) part weight-grad kernel 3
  output y = %y
}
body last {
  input y : f32[B] layout [B/dp]
  weight w : f32[] shared trained layout [] buffer [@ dp]
  %y : f32[B] layout [B/dp] = input y kernel 0
  %w : f32[] layout [] = weight w kernel 0
  %z : f32[B] layout [B/dp] = mul(%y, %w) kernel 1
  %loss : f32[] layout [@ dp] = reduce(%z) sum(B) kernel 1
  %dy : f32[B] layout [B/dp] = broadcast(%w) to [B] part input-grad kernel 2
  %dw : f32[] layout [@ dp] = reduce(%y) sum(B) part weight-grad kernel 3
  accumulate w(%dw) part weight-grad kernel 3
  output dy = %dy cotangent of 0
  loss %loss
}
body step {
  weight w : f32[] shared trained layout [] buffer [@ dp]
  state w.m : f32[] layout []
  %g : f32[] layout [@ dp] = gradient w part sync kernel 0
  %s : f32[] layout [] = all_reduce(%g) over (1) part sync kernel 1
  %w : f32[] layout [] = weight w part step kernel 2
  %w1 : f32[] layout [] = sub(%w, %s) part step kernel 2
  update w.m(%s) part step kernel 2
  assign w(%w1) part step kernel 2
}
unit @first : first(x = input x, dy = @last:dy) weights(w = weight w)
unit @last : last(y = @first:y) weights(w = weight w)
unit @step[0] : step() weights(w = weight w)
unit @step[1] : step() weights(w = weight w)

pipeline over (0) microbatches 2 ranks 2 stages ((0, 1)) units (0, 1, 2)
  steps (0, 1)
  sum weight w over (0, 1)
  transfer @first:y from 0 to 1
  transfer @last:dy from 1 to 0
  actions "0F0 0F1 0B0 0B1"
  actions "1F0 1B0 1F1 1B1"
)";

RankComparison compare(std::string text, const std::string &old = "", const std::string &wanted = "") {
  if (!old.empty()) {
    size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), wanted);
  }
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("test.stgir", text), diags);
  EXPECT_TRUE(program) << (diags.sorted().empty() ? std::string() : diags.sorted().front()->message);
  if (!program)
    return {};
  InterpInputs inputs;
  inputs.given["w"] = Tensor::scalar(3);
  for (double x : {1.0, 2.0}) {
    Tensor batch;
    batch.dims.push_back({program->context->name("B"), 2});
    batch.data = {x, 10 * x};
    inputs.givenTo.emplace_back()["x"] = batch;
  }
  return compareRanks(*program, *program, inputs);
}

TEST(Pipeline, StagesOnTwoRanksTieAWeight) {
  RankComparison result = compare(kTied);
  ASSERT_EQ(result.difference, "");
  const InterpResult &step = result.onRanks;
  ASSERT_TRUE(step.gradient("w") && step.weight("w") && step.state("step[1].w.m"));
  EXPECT_THAT(step.gradient("w")->data, ElementsAre((3 + 4) * 33));
  EXPECT_THAT(step.weight("w")->data, ElementsAre(3 - (3 + 4) * 33));
  EXPECT_THAT(step.state("step[1].w.m")->data, ElementsAre((3 + 4) * 33));
  EXPECT_DOUBLE_EQ(step.loss, 3 * 4 * 33 / 2.0);
}

TEST(Pipeline, WeightGradientsMayComeLater) {
  EXPECT_EQ(compare(kTied, "0F0 0F1 0B0 0B1", "0F0 0F1 0I0 0I1 0W1 0W0").difference, "");
}

TEST(Pipeline, AMissingTransferIsWaitedForInVain) {
  RankComparison result = compare(kTied, "  transfer @first:y from 0 to 1\n", "");
  EXPECT_EQ(result.difference, "on ranks: no rank of the pipeline can go on: rank 0 waits before 0B0 for last:dy; rank "
                               "1 waits before 1F0 for first:y");
}

TEST(Pipeline, RanksThatWaitForEachOther) {
  RankComparison result = compare(kTied, "0F0 0F1 0B0 0B1", "0F1 0B0 0F0 0B1");
  EXPECT_EQ(result.difference, "on ranks: no rank of the pipeline can go on: rank 0 waits before 0B0 for last:dy; rank "
                               "1 waits before 1F0 for first:y");
}

TEST(Pipeline, AMissingSumLeavesCopiesThatDiffer) {
  RankComparison result = compare(kTied, "  sum weight w over (0, 1)\n", "");
  EXPECT_EQ(result.difference, "on ranks: gradient of w is not the same on the pipeline ranks that hold it");
}

TEST(Pipeline, AMissingStepLeavesACopyBehind) {
  std::string text = kTied, unit = "unit @step[1] : step() weights(w = weight w)\n";
  text.replace(text.find(unit), unit.size(), "");
  RankComparison result = compare(text, "steps (0, 1)", "steps (0)");
  EXPECT_EQ(result.difference, "on ranks: new weight w is not on all pipeline ranks that hold the old one");
}

TEST(Pipeline, TwoStepsOfAWeightOnOneRank) {
  RankComparison result = compare(kTied, "steps (0, 1)", "steps (0, 0)");
  EXPECT_THAT(result.difference, HasSubstr("on ranks: step[1] (assign): assigns `w` again"));
}

TEST(Pipeline, AMissingAction) {
  EXPECT_EQ(compare(kTied, "1F1 1B1", "1F1 1I1").difference, "on ranks: gradient of w is 143 instead of 231");
}

TEST(Pipeline, AnActionTwice) {
  RankComparison result = compare(kTied, "0F0 0F1", "0F0 0F0 0F1");
  EXPECT_THAT(result.difference, HasSubstr("a value of first arrives twice at pipeline rank 1"));
}

TEST(Pipeline, AValueSentForNothing) {
  std::string text = kTied;
  text.replace(text.find("  output dy = %dy cot"), 0, "  output z = %z\n");
  RankComparison result = compare(text, "  transfer @last:dy", "  transfer @last:z from 1 to 0\n  transfer @last:dy");
  EXPECT_EQ(result.difference, "on ranks: a value of last is sent to pipeline rank 0, where nothing reads it");
}

TEST(Pipeline, ACollectiveOverTheRanksOfAPipelineInOneOfThem) {
  RankComparison result = compare(kTied, "= all_reduce(%g) over (1)", "= all_reduce(%g) over (0, 1)");
  EXPECT_THAT(result.difference, HasSubstr("(all_reduce): joins ranks of the pipeline"));
}

} // namespace
} // namespace stg::interp
