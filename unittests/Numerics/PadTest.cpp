//===- PadTest.cpp - dims that their axes do not divide ----------------------===//
// `pad` rounds a dim up to what its axes divide. The padding is no part of the value: the last ranks hold fewer
// positions, or none, and a step has the numbers of one device. In sizes, which are those of every rank, it counts.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "gtest/gtest.h"

namespace stg {
namespace {

struct PadCase {
  const char *name;
  const char *sizes;
  const char *rules; ///< of a plan, its mesh first
  int ranks;
};

constexpr PadCase kCases[] = {
    {"Vocabulary", "V = 10", "mesh tp = 4\n  split H, F, V pad over tp", 4},
    {"VocabularyUnderSp", "V = 10",
     "mesh dp = 2, tp = 4\n  split B over dp\n  split H, F, V pad over tp\n  split S over tp", 8},
    {"RanksWithoutPositions", "V = 5", "mesh tp = 4\n  split H, F, V pad over tp", 4},
    {"FewerThanRanks", "V = 3", "mesh tp = 4\n  split H, F, V pad over tp", 4},
    {"Heads", "H = 6, KV = 3, F = 7", "mesh tp = 4\n  split H pad, F pad, V over tp\n  split S over tp", 4},
    {"Batch", "B = 3", "mesh dp = 2, tp = 2\n  split B pad over dp\n  split H, F, V over tp", 4},
    {"Sequence", "S = 13", "mesh tp = 4\n  split H, F, V over tp\n  split S pad over tp", 4},
    {"SequenceOverTwoAxes", "S = 13",
     "mesh cp = 2, tp = 4\n  split S pad over cp\n  split H, F, V over tp\n"
     "  split S pad over tp",
     8},
    {"BehindZigzag", "S = 12",
     "mesh cp = 2, tp = 4\n  split S zigzag over cp\n  split H, F, V over tp\n"
     "  split S pad over tp",
     8},
    {"Hidden", "D = 7", "mesh tp = 4\n  split D pad over tp", 4},
};

class Pad : public testing::TestWithParam<PadCase> {};

TEST_P(Pad, AStepHasTheNumbersOfOneDevice) {
  const PadCase &pad = GetParam();
  std::string text = "use std.attention.{gqa}\nuse std.ffn.{swiglu}\nuse std.norm.{rmsnorm}\nuse std.loss.{xent}\n"
                     "use std.optim.{adamw}\n"
                     "model m(B = 4, S = 16, D = 8, H = 8, KV = 4, Dh = 4, F = 8, V = 8) {\n"
                     "  input ids[B, S]: i32, target[B, S]: i32\n  weight wte[V, D], head[V, D]\n"
                     "  x = lookup(ids, wte)\n  x = x + attn: gqa(norm1: rmsnorm(x); H, KV, Dh)\n"
                     "  x = x + ffn: swiglu(norm2: rmsnorm(x); F)\n  n = norm: rmsnorm(x)\n"
                     "  z[B, S, V]: f32 = sum(D) n * head\n  loss xent(z, target)\n}\n"
                     "plan p {\n  " +
                     std::string(pad.rules) + "\n}\nworkload w {\n  model m(" + pad.sizes + ")\n  plan p\n  ranks " +
                     std::to_string(pad.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
  SplitProgram programs = splitProgram(text);
  ASSERT_TRUE(programs.split) << programs.messages << text;
  interp::InterpInputs inputs;
  inputs.seed = 3;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_EQ(comparison.difference, "") << text;
  EXPECT_EQ(comparison.onRanks.gradients.size(), 12u);
  EXPECT_EQ(comparison.onRanks.weights.size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(Dims, Pad, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<PadCase> &info) { return info.param.name; });

} // namespace
} // namespace stg
