//===- ExpertDropTest.cpp - experts that are full ----------------------------===//
// Slots of experts are divided among the ranks whose tokens fill them, rounded up: a rank's tokens that find its share
// of an expert taken are dropped there, whatever room other ranks have left. Counted here by hand.
//===----------------------------------------------------------------------===//
#include "SplitProgram.h"
#include "gtest/gtest.h"

namespace stg {
namespace {

using interp::Tensor;

const Tensor &outputOf(const interp::InterpResult &result, llvm::StringRef name) {
  for (const interp::NamedTensor &output : result.outputs)
    if (output.name == name)
      return output.value;
  ADD_FAILURE() << "no output " << name.str();
  static const Tensor none;
  return none;
}

struct DropCase {
  const char *name;
  const char *rules;
  int ranks, slots;
};
class ExpertDrop : public testing::TestWithParam<DropCase> {};

TEST_P(ExpertDrop, TokensBeyondTheSlotsOfARank) {
  constexpr int kBatch = 4, kSequence = 8, kExperts = 4, kTop = 2;
  const DropCase &drop = GetParam();
  std::string text = "use std.moe.{topk, dispatch, combine}\n"
                     "layer same(x[..., D]) -> [..., D] {\n  y[..., D] = x * 1.0\n  return y\n}\n"
                     "model m(B = 4, S = 8, D = 2, E = 4, K = 2) {\n  input x[B, S, D], score[B, S, E]\n  let C = " +
                     std::to_string(drop.slots) +
                     " from (B, S)\n  choice, p = topk(score; K)\n  xe[E, C, D] = dispatch(x, choice, none; E, C)\n"
                     "  ye[E, C, D] = each(E) experts: same(xe)\n  y = combine(ye, choice, none)\n  seen = x * 1.0\n"
                     "  output y, choice, seen\n}\nplan p {\n  mesh dp = *\n" +
                     drop.rules + "}\nworkload w {\n  model m\n  plan p\n  ranks " + std::to_string(drop.ranks) +
                     "\n}\n";
  SplitProgram programs = splitProgram(text);
  ASSERT_TRUE(programs.split) << programs.messages << text;
  interp::InterpInputs inputs;
  inputs.seed = 7;
  interp::InterpResult result =
      interp::interpret(*programs.split, inputs, interp::KeepValues::All, interp::Machine::Ranks);
  const Tensor &y = outputOf(result, "y"), &choice = outputOf(result, "choice"), &x = outputOf(result, "seen");
  ASSERT_EQ(choice.data.size(), size_t(kBatch * kSequence * kTop));
  int batchOfRank = kBatch / drop.ranks, share = (drop.slots + drop.ranks - 1) / drop.ranks, dropped = 0;
  for (int rank = 0; rank < drop.ranks; ++rank) {
    int taken[kExperts] = {};
    for (int token = rank * batchOfRank * kSequence; token < (rank + 1) * batchOfRank * kSequence; ++token) {
      int kept = 0;
      for (int k = 0; k < kTop; ++k)
        kept += taken[static_cast<int>(choice.data[size_t(token * kTop + k)])]++ < share ? 1 : 0;
      dropped += kTop - kept;
      for (size_t d = 0; d < 2; ++d)
        EXPECT_DOUBLE_EQ(y.data[size_t(token) * 2 + d], kept * x.data[size_t(token) * 2 + d]) << "token " << token;
    }
  }
  EXPECT_EQ(dropped == 0, share >= batchOfRank * kSequence);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, ExpertDrop,
    testing::Values(DropCase{"OneRank", "  split B over dp\n", 1, 12},
                    DropCase{"DataParallel", "  split B over dp\n", 2, 12},
                    DropCase{"ExpertParallel", "  split E over dp in experts\n  split B over dp\n", 4, 12},
                    DropCase{"RoundedUp", "  split E over dp in experts\n  split B over dp\n", 4, 11},
                    DropCase{"RoomForAll", "  split E over dp in experts\n  split B over dp\n", 4, 32}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace stg
