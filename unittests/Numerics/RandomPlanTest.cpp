//===- RandomPlanTest.cpp - random models by random plans -------------------===//
// A step on simulated ranks gives the numbers of one device, whatever the model
// and the rules: every value, the loss, gradients, new weights. `--seed=N
// --count=N` tries others.
//===----------------------------------------------------------------------===//
#include "RandomModel.h"
#include "RandomProgram.h"
#include "SplitProgram.h"
#include "gtest/gtest.h"
#include <map>

namespace stg {
namespace {

/// `E311` of a message `error[E311]: …`; the whole text if there is none.
std::string codeOf(const std::string &messages) {
  size_t at = messages.find("error[");
  return at == std::string::npos ? messages : messages.substr(at + 6, 4);
}

void tryPlans(uint64_t count, Rest rest, Cut cut = Cut::Never) {
  constexpr uint64_t kPlansPerModel = 2;
  uint64_t first = firstSeed(1), ran = 0, notRun = 0;
  std::map<std::string, uint64_t> refused;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    RandomModel model = randomModel(seed / kPlansPerModel);
    std::string text = model.text + randomPlan(seed, model, rest, cut);
    SplitProgram programs = splitProgram(text);
    if (!programs.split) {
      std::string code = codeOf(programs.messages);
      // Dims that the axes on them do not divide, axes without work, rules for layers whose results nobody uses.
      EXPECT_TRUE(code == "E302" || code == "E311" || code == "E304" || code == "E307" ||
                  (cut == Cut::Always && code == "E409"))
          << "seed " << seed << ": " << programs.messages << text;
      ++refused[code];
      continue;
    }
    interp::InterpInputs inputs;
    inputs.seed = seed;
    interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
    // The interpreter numbers positions by every atom that splits a dim of that name and size anywhere.
    if (llvm::StringRef(comparison.difference).ends_with("is split unevenly, which is not run on ranks")) {
      ++notRun;
      continue;
    }
    EXPECT_EQ(comparison.difference, "") << "seed " << seed << "\n" << text;
    EXPECT_GT(comparison.onRanks.gradients.size(), 0u) << text;
    ++ran;
  }
  testing::Test::RecordProperty("ran", static_cast<int>(ran));
  testing::Test::RecordProperty("not run", static_cast<int>(notRun));
  EXPECT_GT(ran, count / (cut == Cut::Always ? 6 : 3));
  EXPECT_LE(notRun, std::max<uint64_t>(count / 200, 1));
}

// With sanitizers a program takes five times as long.
#ifdef STG_CHECKED
constexpr uint64_t kSplit = 100, kPadded = 30, kPipelined = 40;
#else
constexpr uint64_t kSplit = 500, kPadded = 100, kPipelined = 60;
#endif

TEST(RandomPlan, ASplitStepHasTheNumbersOfOneDevice) { tryPlans(randomCount(kSplit), Rest::Replicate); }

// Axes that do not divide their dims: some ranks hold fewer positions, or none.
TEST(RandomPlan, APaddedStepHasTheNumbersOfOneDevice) { tryPlans(randomCount(kPadded), Rest::Pad); }

// Models of fewer units than stages, and weights of a unit that others use, are refused.
TEST(RandomPlan, APipelinedStepHasTheNumbersOfOneDevice) {
  tryPlans(randomCount(kPipelined), Rest::Replicate, Cut::Always);
}

} // namespace
} // namespace stg
