//===- StreamTest.cpp - context parallelism in all its forms ----------------===//
// Attention that gathers K and V, passes them on in a ring, exchanges heads (Ulysses), does both, or takes a halo. The
// numbers are those of one device, for outputs and gradients. The interpreter leaves out of a halo what it leaves out.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "stg/Analysis/Streams.h"
#include "gtest/gtest.h"

namespace stg {
namespace {

struct Form {
  const char *name;
  const char *rules; ///< of a plan, its mesh first
  int ranks, batchRanks;
  const char *layer;
  RunAlgorithm algorithm;
  uint32_t hops; ///< of one collective
};
constexpr const char *kFull = "gqa(x; H, KV, Dh)", *kWindow = "gqa(x; H, KV, Dh, sliding = 5)",
                     *kSinks = "gqa(x; H, KV, Dh, sinks = true, sliding = 7)";
constexpr RunAlgorithm kGather = RunAlgorithm::Gather, kRing = RunAlgorithm::Ring, kHalo = RunAlgorithm::Halo;
const Form kForms[] = {
    {"Gather2", "mesh cp = 2\n  split S zigzag over cp", 2, 1, kFull, kGather, 0},
    {"Ring2", "mesh cp = 2\n  split S zigzag over cp\n  run attend as ring", 2, 1, kFull, kRing, 1},
    {"Ring4", "mesh cp = 4\n  split S zigzag over cp\n  run attend as ring", 4, 1, kFull, kRing, 3},
    {"Ring4Contiguous", "mesh cp = 4\n  split S over cp\n  run attend as ring", 4, 1, kFull, kRing, 3},
    {"RingOfWindow", "mesh cp = 4\n  split S over cp\n  run attend as ring", 4, 1, kSinks, kRing, 3},
    {"RingOfOneBlock", "mesh cp = 2\n  split S zigzag over cp\n  run blocks[1].layer.attend as ring", 2, 1, kFull,
     kRing, 1},
    {"RingTp2Dp2",
     "mesh dp = 2, cp = 2, tp = 2\n  split B over dp\n  split S zigzag over cp\n  split H or replicate, V over tp\n"
     "  split S over tp\n  run attend as ring",
     8, 2, kFull, kRing, 1},
    {"RingOver2x2", "mesh a = 2, b = 2\n  split S zigzag over a, b\n  run attend as ring", 4, 1, kFull, kRing, 3},
    {"RingRecomputed", "mesh cp = 2\n  split S zigzag over cp\n  run attend as ring\n  recompute all { comm = keep }",
     2, 1, kFull, kRing, 1},
    {"UlyssesInGather", "mesh ring = 2, up = 2\n  split KV, R over up in attend\n  split S zigzag over ring, up", 4, 1,
     kFull, kGather, 0},
    {"UlyssesInRing",
     "mesh ring = 2, up = 2\n  split KV, R over up in attend\n  split S zigzag over ring, up\n"
     "  run attend as ring",
     4, 1, kFull, kRing, 1},
    {"Dp2UlyssesInRing",
     "mesh dp = 2, ring = 2, up = 2\n  split B over dp\n  split KV, R over up in attend\n"
     "  split S zigzag over ring, up\n  run attend as ring",
     8, 2, kFull, kRing, 1},
    {"Halo4", "mesh cp = 4\n  split S over cp\n  run attend as halo", 4, 1, kWindow, kHalo, 1},
    {"HaloOverTwoRanks", "mesh cp = 8\n  split S over cp\n  run attend as halo", 8, 1, kWindow, kHalo, 2},
    {"HaloTp2Dp2",
     "mesh dp = 2, cp = 2, tp = 2\n  split B over dp\n  split S over cp\n  split H or replicate, V over tp\n"
     "  split S over tp\n  run attend as halo",
     8, 2, kSinks, kHalo, 1},
    {"UlyssesInHalo",
     "mesh ring = 2, up = 2\n  split KV, R over up in attend\n  split S over ring, up\n"
     "  run attend as halo",
     4, 1, kSinks, kHalo, 1},
};

std::string textOf(const Form &form, int microBatches) {
  return "use std.attention.{gqa}\nuse std.norm.{rmsnorm}\nuse std.loss.{xent}\nuse std.optim.{adamw}\n"
         "model m(L = 2, B = 4, S = 24, D = 12, H = 12, KV = 6, Dh = 2, V = 12) {\n"
         "  input ids[B, S]: i32, target[B, S]: i32\n  weight wte[V, D], head[V, D]\n  x = lookup(ids, wte)\n"
         "  repeat L as blocks {\n    x = rmsnorm(x)\n    x = x + layer: " +
         std::string(form.layer) + "\n  }\n  loss xent(sum(D) x * head, target)\n}\nplan p {\n  " + form.rules +
         "\n  microbatch " + std::to_string(4 / form.batchRanks) +
         "\n}\nworkload w {\n  model m(B = " + std::to_string(4 * microBatches) + ")\n  plan p\n  ranks " +
         std::to_string(form.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
}

class StreamForm : public testing::TestWithParam<std::tuple<Form, int>> {};

TEST_P(StreamForm, HasTheNumbersOfOneDevice) {
  auto [form, microBatches] = GetParam();
  std::string text = textOf(form, microBatches);
  SplitProgram programs = splitProgram(text);
  ASSERT_TRUE(programs.split) << programs.messages << text;
  interp::InterpInputs inputs;
  inputs.seed = 17;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  EXPECT_GE(comparison.onRanks.gradients.size(), 2u);
  // Forward has one stream of K and V, backward one with the sums behind it.
  uint32_t calls = 0;
  for (const Body &body : programs.split->bodies) {
    BodyStreams streams(*programs.split, body);
    for (const Stream &stream : streams.list()) {
      ++calls;
      EXPECT_EQ(stream.algorithm, form.algorithm);
      EXPECT_EQ(stream.hops(), form.hops);
      EXPECT_EQ(stream.gathers.size(), 2u);
      bool isBackwardCall = body.op(stream.call).part == Part::InputGrad;
      EXPECT_EQ(stream.scatters.size(), isBackwardCall ? 2u : 0u);
    }
  }
  EXPECT_EQ(calls == 0, form.algorithm == kGather);
}

/// With sanitizers every form with one or with three micro-batches, in turns.
std::vector<std::tuple<Form, int>> cases() {
  std::vector<std::tuple<Form, int>> list;
  for (size_t form = 0; form < std::size(kForms); ++form)
    for (int microBatches : {1, 3})
#ifdef STG_CHECKED
      if ((form % 2 == 0) == (microBatches == 1))
#endif
        list.emplace_back(kForms[form], microBatches);
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, StreamForm, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<std::tuple<Form, int>> &info) {
                           return std::string(std::get<0>(info.param).name) +
                                  (std::get<1>(info.param) == 1 ? "" : "ThreeMicroBatches");
                         });

/// S + 1 positions' worth of pairs per key, of which the diagonal is in the first step.
TEST(StreamShares, AddUpAndAreExactWithZigzag) {
  Stream stream;
  stream.ranks = 4;
  stream.block = 8;
  stream.isCausalZigzag = true;
  std::vector<StepShare> shares = sharesOf(stream, 33 * 7, 10);
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_EQ(shares[0].flops, 9u * 7);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_EQ(shares[i].flops, 8u * 7);
  uint64_t bytes = 0;
  for (const StepShare &share : shares)
    bytes += share.bytes;
  EXPECT_EQ(bytes, 10u);
}

} // namespace
} // namespace stg
