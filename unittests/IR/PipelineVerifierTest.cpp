//===- PipelineVerifierTest.cpp - promises of a pipeline, broken on purpose --===//
#include "stg/IR/Reader.h"
#include "stg/IR/Verifier.h"
#include "gmock/gmock.h"

using namespace stg;

namespace {

constexpr const char *kText = R"(stgir scheduled
program two mode forward
mesh pp = 2
sizes B = 2, D = 4
pipeline over pp schedule "1f1b" cut even
microbatches 2
input x : f32[B, D]
weight scale : f32[D]

body block {
  input x : f32[B, D] layout [B, D]
  %x : f32[B, D] layout [B, D] = input x kernel 0
  %y : f32[B, D] layout [B, D] = add(%x, %x) kernel 1 compute (-1)
  output y = %y
}
body nothing {
}

unit @blocks[0] : block(x = input x)
unit @blocks[1] : block(x = @blocks[0]:y)
unit @step : nothing()
pipeline over (0) microbatches 2 ranks 2 stages ((0, 1)) units (0, 1, 2)
  steps (all)
  sum weight scale over (0, 1)
  transfer @blocks[0]:y from 0 to 1
  actions "0F0 0F1"
  actions "1F0 1F1"
)";

class PipelineVerifier : public testing::Test {
protected:
  PipelineVerifier() {
    auto read = readProgram(sources.addBuffer("test.stgir", kText), diags);
    EXPECT_TRUE(read);
    program = std::move(*read);
    EXPECT_TRUE(verify(program).empty());
  }
  void expectViolation(const std::string &text) {
    std::vector<std::string> texts;
    for (const Violation &violation : verify(program))
      texts.push_back(violation.text);
    EXPECT_THAT(texts, testing::Contains(text));
  }
  Pipeline &pipeline() { return *program.pipeline; }

  SourceManager sources;
  Diagnostics diags{sources};
  Program program{std::make_shared<IRContext>()};
};

TEST_F(PipelineVerifier, TheAxisHasAsManyRanksAsThePlacement) {
  pipeline().atoms.clear();
  expectViolation("has 2 ranks on atoms of 1");
}
TEST_F(PipelineVerifier, StagesStandOnItsRanks) {
  pipeline().placement.copies[0][1] = 2;
  expectViolation("places stages on ranks that it has not");
}
TEST_F(PipelineVerifier, TheMicroBatchesAreThoseOfThePlan) {
  program.plan.microBatches = 3;
  expectViolation("has another number of micro-batches than the plan");
}
TEST_F(PipelineVerifier, CopiesShareTheMicroBatches) {
  pipeline().placement.copies.push_back({1, 0});
  pipeline().placement.microBatches = 3;
  expectViolation("has copies that cannot share the micro-batches");
}
TEST_F(PipelineVerifier, StagesAreRunsOfUnits) {
  pipeline().firstUnits = {0, 2, 2};
  expectViolation("has stages that are not runs of units");
}
TEST_F(PipelineVerifier, EveryUnitHasAPlace) {
  pipeline().stepRanks.clear();
  expectViolation("leaves units without a stage or a rank");
}
TEST_F(PipelineVerifier, StepsRunOnItsRanks) {
  pipeline().stepRanks[0] = 2;
  expectViolation("runs a step on a rank that it has not");
}
TEST_F(PipelineVerifier, SumsAreOfWeightsThatExist) {
  pipeline().sums[0].of = WeightId(1);
  expectViolation("sums the gradients of a unit or weight that is not there");
}
TEST_F(PipelineVerifier, SumsJoinTwoRanksOrMore) {
  pipeline().sums[0].ranks = {1};
  expectViolation("sums over ranks that are not two or more of its own, in order");
}
TEST_F(PipelineVerifier, TransfersComeFromTheStageThatMakesThem) {
  pipeline().transfers[0].from = 1;
  expectViolation("sends a value from stage 1, which does not make it");
}
TEST_F(PipelineVerifier, NobodySendsToItself) {
  pipeline().transfers[0].to = 0;
  expectViolation("sends a value to the rank that makes it");
}
TEST_F(PipelineVerifier, TransfersAreOfValuesThatExist) {
  pipeline().transfers[0].value.output = 1;
  expectViolation("sends what is not there");
}
TEST_F(PipelineVerifier, TransfersGoToStagesThatExist) {
  pipeline().transfers[0].to = 1'000'000;
  expectViolation("sends what is not there");
}
TEST_F(PipelineVerifier, WhatCrossesRanksIsSent) {
  pipeline().transfers.clear();
  expectViolation("blocks[1] reads a value of blocks[0], which no rank sends it");
}
TEST_F(PipelineVerifier, NothingIsSplitOverTheAxis) {
  for (Value &value : program.bodies[0].values)
    value.layout->places[0] = Place::split(value.type->dims[0].name);
  expectViolation("has its axis on a dim of blocks[0]");
}
TEST_F(PipelineVerifier, EveryRankHasAList) {
  pipeline().lists.pop_back();
  expectViolation("has 1 lists of actions for 2 ranks");
}
TEST_F(PipelineVerifier, ActionsAreOfItsStagesAndMicroBatches) {
  pipeline().lists[1][0].action.microBatch = 2;
  expectViolation("has an action of a stage or micro-batch that is not there");
}

} // namespace
