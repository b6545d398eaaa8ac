//===- StageTimesTest.cpp - times of stages by hand --------------------------===//
#include "stg/Analysis/StageTimes.h"
#include "stg/IR/Reader.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

/// An operation takes 1 ns, bytes nothing.
constexpr Machine kOneNsPerFlop{.peakTflops = 1e-3, .memoryGbps = 1e6};
/// A byte takes 1 ns, operations nothing.
constexpr Machine kOneNsPerByte{.peakTflops = 1e6, .memoryGbps = 1};

// Two layers y = relu(x w) v in a stage each, and the loss beside the second.
constexpr const char *kTwoStages =
    R"(stgir differentiated program toy mode train mesh pp = 2 sizes B = 8, D = 16, F = 32 microbatches 4
input x : f32[B, D]

body block {
  input x : f32[B, D]
  input dy : f32[B, D] cotangent of 0
  weight w : f32[D, F] trained
  weight v : f32[F, D] trained
  %x : f32[B, D] = input x kernel 0
  %w : f32[D, F] = weight w kernel 0
  %v : f32[F, D] = weight v kernel 0
  %h : f32[B, F] = contract(%x, %w) sum(D) kernel 1
  %a : f32[B, F] = relu(%h) kernel 2
  %y : f32[B, D] = contract(%a, %v) sum(F) kernel 3
  %dy : f32[B, D] = input dy part input-grad kernel 9
  %dv : f32[F, D] = contract(%a, %dy) sum(B) part weight-grad kernel 10
  %da : f32[B, F] = contract(%dy, %v) sum(D) part input-grad kernel 11
  %dh : f32[B, F] = where_positive(%da, %h) part input-grad kernel 12
  %dx : f32[B, D] = contract(%dh, %w) sum(F) part input-grad kernel 13
  %dw : f32[D, F] = contract(%x, %dh) sum(B) part weight-grad kernel 14
  output y = %y
  output dx = %dx cotangent of 0
}
body loss {
  input y : f32[B, D]
  %y : f32[B, D] = input y kernel 0
  %s : f32[B, D] = square(%y) kernel 1
  %l : f32[] = reduce(%s) sum(B, D) kernel 1
  %seed : f32[] = constant 2 part input-grad kernel 2
  %dy : f32[B, D] = mul(%y, %seed) part input-grad kernel 2
  output dy = %dy cotangent of 0
  loss %l
}
unit @blocks[0] : block(x = input x, dy = @blocks[1]:dx)
unit @blocks[1] : block(x = @blocks[0]:y, dy = @loss:dy)
unit @loss : loss(y = @blocks[1]:y)
pipeline over (0) microbatches 4 ranks 2 stages ((0, 1)) units (0, 1, 3)
  transfer @blocks[0]:y from 0 to 1
  transfer @blocks[1]:dx from 1 to 0
)";

std::vector<StageTimes> timesOf(const std::string &text, const Machine &machine) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("stages.stgir", text), diags);
  for (const Diagnostic *diagnostic : diags.sorted())
    ADD_FAILURE() << sources.describe(diagnostic->range) << " " << diagnostic->message;
  return program ? stageTimes(*program, machine).value_or(std::vector<StageTimes>()) : std::vector<StageTimes>();
}

constexpr uint64_t kContraction = 2 * 8 * 16 * 32, kActivation = 8 * 32, kElements = 8 * 16;

TEST(StageTimes, AddUpTheKernelsOfEachPart) {
  std::vector<StageTimes> times = timesOf(kTwoStages, kOneNsPerFlop);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].forward, 2 * kContraction + kActivation);
  EXPECT_EQ(times[0].inputGrad, 2 * kContraction + kActivation);
  EXPECT_EQ(times[0].weightGrad, 2 * kContraction);
  // The loss squares and adds, and doubles for its gradient.
  EXPECT_EQ(times[1].forward, times[0].forward + 2 * kElements);
  EXPECT_EQ(times[1].inputGrad, times[0].inputGrad + kElements);
  EXPECT_EQ(times[1].weightGrad, times[0].weightGrad);
}

TEST(StageTimes, TakeAsLongAsMemoryWhereThatIsSlower) {
  std::vector<StageTimes> times = timesOf(kTwoStages, kOneNsPerByte);
  ASSERT_EQ(times.size(), 2u);
  constexpr uint64_t x = 4 * 8 * 16, h = 4 * 8 * 32, w = 4 * 16 * 32;
  EXPECT_EQ(times[0].forward, (x + w + h) + (h + h) + (h + w + x));
  // Nobody reads the gradients here, so nothing writes them.
  EXPECT_EQ(times[0].weightGrad, (h + x) + (x + h));
}

TEST(StageTimes, KnowWhatIsSentAndWhenItIsMade) {
  std::vector<StageTimes> times = timesOf(kTwoStages, kOneNsPerFlop);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].outputBytes, 4 * 8 * 16);
  EXPECT_EQ(times[0].gradBytes, 0);
  EXPECT_EQ(times[1].outputBytes, 0);
  EXPECT_EQ(times[1].gradBytes, 4 * 8 * 16);
  EXPECT_EQ(times[0].outputAhead, 0u);
  EXPECT_EQ(times[1].inputGradAhead, 0u);
  // In a whole backward, the gradient of w comes behind what is sent.
  EXPECT_EQ(times[1].backwardAhead, kContraction);
  EXPECT_EQ(times[0].backwardAhead, 0u);
}

TEST(StageTimes, GiveUpWhereATimeHasNoNumber) {
  EXPECT_TRUE(timesOf(kTwoStages, {.peakTflops = 1e-30, .memoryGbps = 1}).empty());
}

} // namespace
