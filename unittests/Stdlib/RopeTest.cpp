//===- RopeTest.cpp - scaled rotary positions ------------------------------------===//
// `rotary` against the formulas of Hugging Face's modeling_rope_utils.py, written here once more: the angle between
// what goes in and what comes out, channel by channel, and the reference of the interpreter against both.
//===----------------------------------------------------------------------===//
#include "StgText.h"
#include "gtest/gtest.h"
#include <cmath>

namespace stg::stdlib {
namespace {

using interp::InterpResult;
using interp::Tensor;

constexpr int kWidth = 16, kPositions = 6;
const double kTurn = 2 * std::acos(-1.0);

double plain(double base, int i) { return std::pow(base, -2.0 * i / kWidth); }

/// _compute_llama3_parameters, with its three cases.
double llama3(int i, double base, double factor, double low, double high, double original) {
  double frequency = plain(base, i), length = kTurn / frequency;
  if (length > original / low)
    return frequency / factor;
  if (length < original / high)
    return frequency;
  double smooth = (original / length - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

/// _compute_yarn_parameters.
double yarn(int i, double base, double factor, double fast, double slow, double original, bool truncate) {
  auto correction = [&](double rotations) {
    return kWidth * std::log(original / (rotations * kTurn)) / (2 * std::log(base));
  };
  double low = correction(fast), high = correction(slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, kWidth - 1.0);
  if (low == high)
    high += 0.001;
  double ramp = std::min(std::max((i - low) / (high - low), 0.0), 1.0);
  return plain(base, i) / factor * ramp + plain(base, i) * (1 - ramp);
}

struct RopeCase {
  const char *name, *statics;
  double (*frequency)(int i);
  double gain;
};

class Rope : public testing::TestWithParam<RopeCase> {};

TEST_P(Rope, TurnsAsTheFormulaSays) {
  const RopeCase &one = GetParam();
  std::optional<Program> program = compileText("use std.attention.{rotary}\nmodel m(B = 1, S = 6, C = 16) {\n"
                                               "  input z[B, S, C]\n  x = 2.0 * z\n  y = rotary(x; " +
                                               std::string(one.statics) + ")\n  output x, y\n}\n");
  ASSERT_TRUE(program);
  Program bare = *program;
  dropDefineBlocks(bare, "rotary");
  for (const Program *form : {&*program, &bare}) {
    InterpResult result = interp::interpret(*form, {});
    const Tensor *x = result.output("x"), *y = result.output("y");
    ASSERT_TRUE(x && y);
    for (size_t s = 0; s < kPositions; ++s)
      for (size_t i = 0; i < kWidth / 2; ++i) {
        double angle = static_cast<double>(s) * one.frequency(static_cast<int>(i));
        double a = x->data[s * kWidth + i], b = x->data[s * kWidth + i + kWidth / 2];
        EXPECT_NEAR(y->data[s * kWidth + i], one.gain * (a * std::cos(angle) - b * std::sin(angle)), 1e-9) << i;
        EXPECT_NEAR(y->data[s * kWidth + i + kWidth / 2], one.gain * (b * std::cos(angle) + a * std::sin(angle)), 1e-9)
            << i;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scalings, Rope,
    testing::Values(
        RopeCase{"None", "base = 500.0", [](int i) { return plain(500, i); }, 1},
        RopeCase{"Linear", "base = 500.0, scaling = \"linear\", factor = 4.0", [](int i) { return plain(500, i) / 4; },
                 1},
        // Three channels keep their turns, two are between, three are slowed.
        RopeCase{"Llama3", "base = 5e5, scaling = \"llama3\", factor = 8.0, original = 8192, slow = 1.0, fast = 4.0",
                 [](int i) { return llama3(i, 5e5, 8, 1, 4, 8192); }, 1},
        RopeCase{"Llama3Narrow",
                 "base = 50.0, scaling = \"llama3\", factor = 8.0, original = 64, slow = 1.0, fast = 8.0",
                 [](int i) { return llama3(i, 50, 8, 1, 8, 64); }, 1},
        // Scout: no channel is between.
        RopeCase{"Llama3Step",
                 "base = 5e5, scaling = \"llama3\", factor = 16.0, original = 8192, slow = 1.0, fast = 1.0",
                 [](int i) { return llama3(i, 5e5, 16, 1, 1, 8192); }, 1},
        RopeCase{"Yarn", "base = 10000.0, scaling = \"yarn\", factor = 40.0, original = 4096",
                 [](int i) { return yarn(i, 1e4, 40, 32, 1, 4096, true); }, 1},
        RopeCase{"YarnGptOss",
                 "base = 150000.0, scaling = \"yarn\", factor = 32.0, original = 4096, truncate = false, gain = 1.3466",
                 [](int i) { return yarn(i, 150000, 32, 32, 1, 4096, false); }, 1.3466},
        RopeCase{"YarnShort", "base = 10000.0, scaling = \"yarn\", factor = 4.0, original = 4",
                 [](int i) { return yarn(i, 1e4, 4, 32, 1, 4, true); }, 1}),
    [](const auto &info) { return info.param.name; });

// As the library scales queries of Llama 4: log(floor((position + 1) / floor_scale) + 1) * attn_scale + 1.
TEST(LongQuery, GrowsInSteps) {
  InterpResult result =
      runText("use models.llama4.{long_query}\nmodel m(B = 1, S = 6, C = 16) {\n"
              "  input z[B, S, C]\n  x = 2.0 * z\n  y = long_query(x; start = 3, reach = 4, scale = 0.5)\n"
              "  output x, y\n}\n");
  const Tensor *x = result.output("x"), *y = result.output("y");
  ASSERT_TRUE(x && y);
  for (size_t s = 0; s < kPositions; ++s) {
    double scale = std::log(std::floor((3.0 + static_cast<double>(s) + 1) / 4) + 1) * 0.5 + 1;
    EXPECT_NEAR(y->data[s * kWidth], scale * x->data[s * kWidth], 1e-9) << s;
  }
}

} // namespace
} // namespace stg::stdlib
