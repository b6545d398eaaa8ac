//===- CompareRanksTest.cpp - programs on simulated ranks ------------------===//
// What the judge accepts and what it finds. Whole models stand in test/Numerics.
//===----------------------------------------------------------------------===//
#include "stg/Interp/CompareRanks.h"
#include "stg/IR/Reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stg::interp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A program of one unit over the body lines of `body`. Its inputs are declared in `header`.
std::optional<Program> read(const std::string &header, const std::string &body, const std::string &bindings) {
  std::string text = "stgir explicit\nprogram p mode forward\n" + header + "body all {\n" + body +
                     "}\nunit @all : all(" + bindings + ")\n";
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("test.stgir", text), diags);
  EXPECT_TRUE(program) << (diags.sorted().empty() ? std::string() : diags.sorted().front()->message) << "\n" << text;
  return program;
}

RankComparison compare(const std::string &header, const std::string &body,
                       const std::string &bindings = "x = input x") {
  std::optional<Program> program = read(header, body, bindings);
  if (!program)
    return {};
  InterpInputs inputs;
  inputs.seed = 11;
  return compareRanks(*program, *program, inputs);
}

std::string oneInput(const std::string &layout) {
  return "  input x : f32[S] layout " + layout + "\n  %x : f32[S] layout " + layout + " = input x kernel 0\n";
}

//===----------------------------------------------------------------------===//
// Which positions a rank holds
//===----------------------------------------------------------------------===//

TEST(Ranks, DigitsOfAllAtomsEverPlacedOnADim) {
  // The first rule split over b alone: b is still the minor digit, so the exchange with a moves inside a's groups.
  RankComparison result =
      compare("mesh a = 2, b = 2\nsizes S = 8\ninput x : f32[S]\n",
              oneInput("[S/b]") + "  %y : f32[S] layout [S/a/b] = shard(%x) over (0) to S kernel 1\n"
                                  "  %z : f32[S] layout [S/a] = all_gather(%y) over (1) from S kernel 2\n"
                                  "  %w : f32[S] layout [S] = all_gather(%z) over (0) from S kernel 3\n");
  EXPECT_EQ(result.difference, "");
  EXPECT_GE(result.compared, 4u);
}

TEST(Ranks, UnevenSplitsAreRefused) {
  RankComparison result = compare("mesh a = 2\nsizes S = 3\ninput x : f32[S]\n", oneInput("[S/a]"));
  EXPECT_THAT(result.difference, HasSubstr("a dim of 3 positions is split unevenly"));
}

TEST(Ranks, OneRankIsOneDevice) {
  RankComparison result = compare("sizes S = 3\ninput x : f32[S]\n", oneInput("[S]"));
  EXPECT_EQ(result.difference, "");
}

//===----------------------------------------------------------------------===//
// What is found
//===----------------------------------------------------------------------===//

constexpr const char *kTwo = "mesh a = 2\nsizes S = 4\ninput x : f32[S]\n";

TEST(Ranks, AForgottenAllReduce) {
  RankComparison result = compare(kTwo, oneInput("[S/a]") + "  %y : f32[] layout [] = reduce(%x) sum(S) kernel 1\n");
  EXPECT_THAT(result.difference, HasSubstr("on ranks: all.y"));
  EXPECT_THAT(result.difference, HasSubstr("which should hold the same"));
}

TEST(Ranks, ACollectiveThatDoesNotMoveWhatItsLayoutsSay) {
  RankComparison result =
      compare(kTwo, oneInput("[S/a]") + "  %y : f32[S] layout [S] = all_reduce(%x) over (0) kernel 1\n");
  EXPECT_THAT(result.difference, HasSubstr("all.y (all_reduce): does not move atom `a` as its layouts say"));
}

TEST(Ranks, AWholeValueAddedToAPartialOne) {
  RankComparison result = compare(kTwo, oneInput("[S/a]") + "  %y : f32[] layout [@ a] = reduce(%x) sum(S) kernel 1\n"
                                                            "  %c : f32[] layout [] = constant 0.5 kernel 1\n"
                                                            "  %z : f32[] layout [@ a] = add(%y, %c) kernel 1\n");
  EXPECT_THAT(result.difference, HasSubstr("on ranks: all.z is"));
}

TEST(Ranks, ALayoutThatIsNotWhatTheOpGives) {
  RankComparison result = compare(kTwo, oneInput("[S/a]") + "  %y : f32[S] layout [S] = exp(%x) kernel 1\n");
  EXPECT_THAT(result.difference, HasSubstr("all.y (map): is [S = 2 of 4], but its type says [S = 4]"));
}

TEST(Ranks, AMinimumOverAPart) {
  RankComparison result = compare(kTwo, oneInput("[S/a]") + "  %y : f32[] layout [@ a] = reduce(%x) min(S) kernel 1\n");
  EXPECT_THAT(result.difference, HasSubstr("min needs all 4 positions of a dim, of which the rank holds 2"));
}

TEST(Ranks, AMergedDimWithoutADeclaredFactorIsWhole) {
  std::string header = "mesh a = 2\nsizes S = 4, D = 2\ninput x : f32[S, D]\n";
  std::string input = "  input x : f32[S, D] layout [S, D/a]\n"
                      "  %x : f32[S, D] layout [S, D/a] = input x kernel 0\n";
  RankComparison result =
      compare(header, input + "  %y : f32[E = S*D] layout [E/a] = view(%x) (S, D) as [E = S*D] kernel 1\n");
  EXPECT_THAT(result.difference, HasSubstr("a view would give the rank other positions than it holds"));
}

//===----------------------------------------------------------------------===//
// Meanings that go by global positions
//===----------------------------------------------------------------------===//

TEST(Ranks, DropoutIotaAndMasksGoByGlobalPosition) {
  std::string header = "mesh a = 2, b = 2\nsizes S = 8, D = 4\nsplit (S zigzag) over (a)\ninput x : f32[S, D]\n";
  std::string body = "  input x : f32[S, D] layout [S/a, D/b]\n"
                     "  %x : f32[S, D] layout [S/a, D/b] = input x kernel 0\n"
                     "  %d : f32[S, D] layout [S/a, D/b] = dropout(%x) p 0.5 stream 1 kernel 1\n"
                     "  %i : f32[S] layout [S/a] = iota [S] from [3] kernel 1\n"
                     "  %s : f32[S, D] layout [S/a, D/b] = mul(%d, %i) kernel 1\n"
                     "  %m : f32[S, D] layout [S/a, D/b] = masked(%s) causal query S key D zero kernel 1\n";
  EXPECT_EQ(compare(header, body).difference, "");
}

TEST(Ranks, GatherAndScatterOnASplitDim) {
  std::string header = "mesh a = 2\nsizes S = 6, V = 4, D = 3\ninput x : f32[V, D]\ninput i : i32[S]\n";
  std::string body = "  input x : f32[V, D] layout [V/a, D]\n"
                     "  input i : i32[S] layout [S]\n"
                     "  %x : f32[V, D] layout [V/a, D] = input x kernel 0\n"
                     "  %i : i32[S] layout [S] = input i kernel 0\n"
                     "  %g : f32[S, D] layout [S, D @ a] = gather(%x, %i) V kernel 1\n"
                     "  %r : f32[S, D] layout [S, D] = all_reduce(%g) over (0) kernel 2\n"
                     "  %s : f32[V, D] layout [V/a, D] = scatter(%r, %i) into [V] replacing (S) kernel 3\n";
  EXPECT_EQ(compare(header, body, "x = input x, i = input i").difference, "");
}

TEST(Ranks, DefineBlocksSeeThePartsThatRanksHold) {
  std::string header = "mesh a = 2\nsizes S = 4, C = 2\ninput x : f32[S, C]\n"
                       "body rows {\n"
                       "  input q : f32[s = S, c = C]\n"
                       "  input k : f32[t = S, c = C]\n"
                       "  %q : f32[s = S, c = C] = input q kernel 0\n"
                       "  %k : f32[t = S, c = C] = input k kernel 0\n"
                       "  %score : f32[s = S, t = S] = contract(%q, %k) sum(c) kernel 1\n"
                       "  %seen : f32[s = S, t = S] = masked(%score) causal query s key t zero kernel 1\n"
                       "  %row : f32[s = S] = reduce(%seen) sum(t) kernel 1\n"
                       "  %position : f32[s = S] = iota [s = S] from [1] kernel 1\n"
                       "  %y : f32[s = S] = mul(%row, %position) kernel 1\n"
                       "  output y = %y\n}\n";
  std::string body = "  input x : f32[S, C] layout [S/a, C]\n"
                     "  %q : f32[S, C] layout [S/a, C] = input x kernel 0\n"
                     "  %k : f32[S, C] layout [S, C] = all_gather(%q) over (0) from S kernel 1\n"
                     "  %y : f32[S] layout [S/a] = call rows(%q{s, c}, %k{t, c}) -> (f32{s}) factors (s is [S] map, "
                     "t is [S] stream(\"gather\"), c is [C] whole) define rows kernel 2\n";
  EXPECT_EQ(compare(header, body).difference, "");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// y = w x, loss = sum(y): dw is the sum of x over its batch. The state counts micro-batches.
constexpr const char *kStepHeader = "mesh a = 2\nsizes B = 2\nmicrobatches 3\ninput x : f32[B]\n";
constexpr const char *kStepBody = "  input x : f32[B] layout [B/a]\n"
                                  "  weight w : f32[] trained layout [] buffer [@ a]\n"
                                  "  state n : f32[] layout []\n"
                                  "  state w.m : f32[] layout []\n"
                                  "  state w.master : f32[] layout []\n"
                                  "  %x : f32[B] layout [B/a] = input x kernel 0\n"
                                  "  %w : f32[] layout [] = weight w kernel 0\n"
                                  "  %n : f32[] layout [] = state n kernel 0\n"
                                  "  %one : f32[] layout [] = constant 1 kernel 0\n"
                                  "  %n1 : f32[] layout [] = add(%n, %one) kernel 0\n"
                                  "  update n(%n1) kernel 0\n"
                                  "  %y : f32[B] layout [B/a] = mul(%x, %w) kernel 1\n"
                                  "  %loss : f32[] layout [@ a] = reduce(%y) sum(B) kernel 1\n"
                                  "  %dw : f32[] layout [@ a] = reduce(%x) sum(B) part weight-grad kernel 2\n"
                                  "  accumulate w(%dw) part weight-grad kernel 2\n"
                                  "  %g : f32[] layout [@ a] = gradient w part sync kernel 3\n"
                                  "  %r : f32[] layout [] = all_reduce(%g) over (0) part sync kernel 3\n"
                                  "  %m : f32[] layout [] = state w.m part step kernel 4\n"
                                  "  %m1 : f32[] layout [] = add(%m, %r) part step kernel 4\n"
                                  "  update w.m(%m1) part step kernel 4\n"
                                  "  %master : f32[] layout [] = state w.master part step kernel 4\n"
                                  "  %w1 : f32[] layout [] = sub(%master, %m1) part step kernel 4\n"
                                  "  assign w(%w1) part step kernel 4\n"
                                  "  update w.master(%w1) part step kernel 4\n"
                                  "  loss %loss\n";

TEST(Ranks, AStepAccumulatesOverMicroBatchesAndUpdatesWeights) {
  std::optional<Program> program = read(kStepHeader, kStepBody, "x = input x");
  ASSERT_TRUE(program);
  program->level = Level::Stored;
  InterpInputs inputs;
  auto scalar = [](double value) { return Tensor::scalar(value); };
  inputs.given["all.w"] = scalar(10);
  inputs.given["all.w.m"] = scalar(100);
  for (double x : {1.0, 2.0, 3.0}) {
    Tensor batch;
    batch.dims.push_back({program->context->name("B"), 2});
    batch.data = {x, 10 * x};
    inputs.givenTo.emplace_back()["x"] = batch;
  }
  RankComparison result = compareRanks(*program, *program, inputs);
  EXPECT_EQ(result.difference, "");
  const InterpResult &step = result.onRanks;
  ASSERT_TRUE(step.gradient("all.w") && step.weight("all.w") && step.state("all.w.m") && step.state("all.n"));
  EXPECT_THAT(step.gradient("all.w")->data, ElementsAre(66));
  EXPECT_THAT(step.state("all.n")->data, ElementsAre(3));
  EXPECT_THAT(step.state("all.w.m")->data, ElementsAre(166));
  EXPECT_THAT(step.weight("all.w")->data, ElementsAre(10 - 166));
  EXPECT_DOUBLE_EQ(step.loss, 10 * 66 / 3.0);
  ASSERT_TRUE(step.unitValue("all.x", 2));
  EXPECT_THAT(step.unitValue("all.x", 2)->data, ElementsAre(3, 30));
  EXPECT_TRUE(step.unitValue("all.w1", kOfStep));
}

/// A gradient over a batch on four ranks that is 0 but for rounding, and a step by `update` of `%r`, its sum.
RankComparison stepOnNoise(const std::string &update) {
  std::string body = "  input x : f32[B, D] layout [B/a, D/b]\n"
                     "  weight w : f32[D] trained layout [D/b] buffer [D/b @ a]\n"
                     "  %x : f32[B, D] layout [B/a, D/b] = input x kernel 0\n"
                     "  %w : f32[D] layout [D/b] = weight w kernel 0\n"
                     "  %sum : f32[D] layout [D/b @ a] = reduce(%x) sum(B) kernel 1\n"
                     "  %all : f32[D] layout [D/b] = all_reduce(%sum) over (0) kernel 1\n"
                     "  %n : f32[] layout [] = constant [1/B] kernel 1\n"
                     "  %mean : f32[D] layout [D/b] = mul(%all, %n) kernel 1\n"
                     "  %d : f32[B, D] layout [B/a, D/b] = sub(%x, %mean) kernel 1\n"
                     "  %dw : f32[D] layout [D/b @ a] = reduce(%d) sum(B) part weight-grad kernel 2\n"
                     "  accumulate w(%dw) part weight-grad kernel 2\n"
                     "  %g : f32[D] layout [D/b @ a] = gradient w part sync kernel 3\n"
                     "  %r : f32[D] layout [D/b] = all_reduce(%g) over (0) part sync kernel 3\n" +
                     update +
                     "  %w1 : f32[D] layout [D/b] = sub(%w, %u) part step kernel 4\n"
                     "  assign w(%w1) part step kernel 4\n";
  std::string header = "mesh a = 4, b = 2\nsizes B = 12, D = 4\ninput x : f32[B, D]\n"
                       "body squared {\n  input v : f32[D]\n  %v : f32[D] = input v kernel 0\n"
                       "  %s : f32[] = reduce(%v) sum(D) kernel 1\n  %y : f32[] = square(%s) kernel 1\n"
                       "  output y = %y\n}\n";
  std::optional<Program> program = read(header, body, "x = input x");
  if (!program)
    return {};
  program->level = Level::Stored;
  InterpInputs inputs;
  inputs.seed = 11;
  return compareRanks(*program, *program, inputs);
}

TEST(Ranks, AStepThatDividesAGradientOfRoundingByItsSize) {
  RankComparison result = stepOnNoise("  %q : f32[D] layout [D/b] = mul(%r, %r) part step kernel 4\n"
                                      "  %v : f32[D] layout [D/b] = sqrt(%q) part step kernel 4\n"
                                      "  %u : f32[D] layout [D/b] = div(%r, %v) part step kernel 4\n");
  EXPECT_EQ(result.difference, "");
  ASSERT_TRUE(result.onRanks.gradient("all.w"));
  double largest = 0;
  for (double g : result.onRanks.gradient("all.w")->data)
    largest = std::max(largest, std::fabs(g));
  EXPECT_GT(largest, 0); // rounding
  EXPECT_LT(largest, 1e-12);
}

TEST(Ranks, ASmallFaultOfAStepIsFound) {
  RankComparison result =
      stepOnNoise("  %y : f32[] layout [@ b] = call squared(%w{d}) -> (f32{}) factors (d is [D] sum) define "
                  "squared part step kernel 4\n"
                  "  %z : f32[] layout [] = all_reduce(%y) over (1) part step kernel 4\n"
                  "  %c : f32[] layout [] = constant 0.0000001 part step kernel 4\n"
                  "  %zc : f32[] layout [] = mul(%z, %c) part step kernel 4\n"
                  "  %u : f32[D] layout [D/b] = add(%r, %zc) part step kernel 4\n");
  EXPECT_THAT(result.difference, HasSubstr("on ranks: all.y of the step is"));
}

TEST(Ranks, MicroBatchesHaveInputsOfTheirOwn) {
  std::optional<Program> program = read(kStepHeader, kStepBody, "x = input x");
  ASSERT_TRUE(program);
  InterpResult result = interpret(*program, {}, KeepValues::All);
  EXPECT_NE(result.unitValue("all.x", 0)->data, result.unitValue("all.x", 1)->data);
  EXPECT_EQ(result.unitValue("all.w", 0)->data, result.unitValue("all.w", 1)->data);
}

} // namespace
} // namespace stg::interp
