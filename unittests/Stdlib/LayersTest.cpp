//===- LayersTest.cpp - norms, feed-forward layers and losses against loops -===//
#include "StgText.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>

namespace stg::stdlib {
namespace {

using interp::InterpResult;
using interp::Tensor;

std::vector<double> numbers(const std::string &name, size_t count) {
  std::vector<double> data;
  for (size_t i = 0; i < count; ++i)
    data.push_back(interp::madeUp(ElementType::F32, 0, name, i, 1));
  return data;
}

void expectNear(const Tensor *actual, const std::vector<double> &expected) {
  ASSERT_TRUE(actual);
  ASSERT_EQ(actual->data.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual->data[i], expected[i], 1e-12) << i;
}

constexpr size_t kRows = 3, kWidth = 5, kHidden = 7;

TEST(Norm, RmsnormIsItsFormula) {
  InterpResult result = runText(R"(
use std.norm.{rmsnorm}
model m(B = 3, D = 5) {
  input x[B, D]
  y = f: rmsnorm(x; eps = 0.01)
  output y
}
)");
  auto x = numbers("x", kRows * kWidth), g = numbers("f.g", kWidth);
  std::vector<double> y;
  for (size_t b = 0; b < kRows; ++b) {
    double square = 0;
    for (size_t d = 0; d < kWidth; ++d)
      square += x[b * kWidth + d] * x[b * kWidth + d] / kWidth;
    for (size_t d = 0; d < kWidth; ++d)
      y.push_back(x[b * kWidth + d] / std::sqrt(square + 0.01) * g[d]);
  }
  expectNear(result.output("y"), y);
}

void checkLayernorm(const std::string &more, bool hasBias) {
  InterpResult result =
      runText("use std.norm.{layernorm}\nmodel m(B = 3, D = 5) {\n  input x[B, D]\n  y = f: layernorm(x; eps = 0.01" +
              more + ")\n  output y\n}\n");
  auto x = numbers("x", kRows * kWidth), g = numbers("f.g", kWidth),
       bias = hasBias ? numbers("f.b", kWidth) : std::vector<double>(kWidth);
  std::vector<double> y;
  for (size_t b = 0; b < kRows; ++b) {
    double mean = 0, variance = 0;
    for (size_t d = 0; d < kWidth; ++d)
      mean += x[b * kWidth + d] / kWidth;
    for (size_t d = 0; d < kWidth; ++d)
      variance += (x[b * kWidth + d] - mean) * (x[b * kWidth + d] - mean) / kWidth;
    for (size_t d = 0; d < kWidth; ++d)
      y.push_back((x[b * kWidth + d] - mean) / std::sqrt(variance + 0.01) * g[d] + bias[d]);
  }
  expectNear(result.output("y"), y);
}

TEST(Norm, LayernormIsItsFormula) {
  checkLayernorm("", true);
  checkLayernorm(", bias = false", false);
}

double silu(double a) { return a / (1 + std::exp(-a)); }
double gelu(double a) { return a * 0.5 * (1 + std::erf(a / std::sqrt(2.0))); }
double relu(double a) { return std::max(a, 0.0); }

/// rows of x times w, plus a bias if there is one.
std::vector<double> product(const std::vector<double> &x, const std::vector<double> &w, size_t in, size_t out,
                            const std::vector<double> &bias = {}) {
  std::vector<double> y;
  for (size_t b = 0; b < kRows; ++b)
    for (size_t o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0 : bias[o];
      for (size_t i = 0; i < in; ++i)
        sum += x[b * in + i] * w[i * out + o];
      y.push_back(sum);
    }
  return y;
}

void checkGated(const std::string &call, double (*activation)(double)) {
  InterpResult result =
      runText("use std.ffn.{swiglu, geglu, glu}\nmodel m(B = 3, D = 5, F = 7) {\n  input x[B, D]\n  y = f: " + call +
              "\n  output y\n}\n");
  auto x = numbers("x", kRows * kWidth);
  auto gate = product(x, numbers("f.w_gate", kWidth * kHidden), kWidth, kHidden);
  auto up = product(x, numbers("f.w_up", kWidth * kHidden), kWidth, kHidden);
  for (size_t i = 0; i < gate.size(); ++i)
    gate[i] = activation(gate[i]) * up[i];
  expectNear(result.output("y"), product(gate, numbers("f.w_down", kHidden * kWidth), kHidden, kWidth));
}

TEST(Ffn, SwigluIsItsLoops) { checkGated("swiglu(x; F)", silu); }
TEST(Ffn, GegluIsItsLoops) { checkGated("geglu(x; F)", gelu); }
TEST(Ffn, GluTakesItsActivation) {
  checkGated("glu(x; F, act = relu)", relu);
  checkGated("glu(x; F)", silu);
}

void checkMlp(const std::string &call, double (*activation)(double), bool bias) {
  InterpResult result = runText("use std.ffn.{mlp}\nmodel m(B = 3, D = 5, F = 7) {\n  input x[B, D]\n  y = f: " + call +
                                "\n  output y\n}\n");
  auto biasOf = [&](const std::string &name, size_t count) {
    return bias ? numbers(name, count) : std::vector<double>();
  };
  auto hidden = product(numbers("x", kRows * kWidth), numbers("f.up.w", kWidth * kHidden), kWidth, kHidden,
                        biasOf("f.up.b", kHidden));
  for (double &value : hidden)
    value = activation(value);
  expectNear(result.output("y"),
             product(hidden, numbers("f.down.w", kHidden * kWidth), kHidden, kWidth, biasOf("f.down.b", kWidth)));
}

TEST(Ffn, MlpIsItsLoops) {
  checkMlp("mlp(x; F)", gelu, false);
  checkMlp("mlp(x; F, act = relu)", relu, false);
  checkMlp("mlp(x; F, bias = true)", gelu, true);
}

TEST(Ffn, LinearMakesSeveralDimsAtOnce) {
  InterpResult result = runText(R"(
use std.ffn.{linear}
model m(B = 3, D = 5, H = 2, C = 3) {
  input x[B, D]
  y[B, H, C] = f: linear(x; (H, C), bias = true)
  output y
}
)");
  expectNear(result.output("y"),
             product(numbers("x", kRows * kWidth), numbers("f.w", kWidth * 6), kWidth, 6, numbers("f.b", 6)));
}

TEST(Loss, CrossEntropyOfUniformLogitsIsTheLogOfTheirNumber) {
  InterpResult result = runText(R"(
use std.loss.{xent}
model m(B = 3, S = 2, V = 11) {
  input z[B, S, V], target[B, S]: i32
  each_loss = xent(z * 0 + 700, target)
  output each_loss
}
)");
  expectNear(result.output("each_loss"), std::vector<double>(6, std::log(11.0)));
}

void checkCrossEntropy(const std::string &more, double zLoss) {
  std::optional<Program> program = compileText("use std.loss.{xent}\nmodel m(B = 3, V = 4) {\n"
                                               "  input z[B, V], target[B]: i32\n  loss xent(z, target" +
                                               more + ")\n}\n");
  ASSERT_TRUE(program);
  interp::InterpInputs inputs;
  Tensor target;
  target.element = ElementType::I32;
  target.dims = {{program->context->name("B"), 3}};
  target.data = {2, 0, 3};
  inputs.given["target"] = target;
  auto z = numbers("z", 12);
  double loss = 0;
  for (size_t b = 0; b < 3; ++b) {
    double total = 0;
    for (size_t v = 0; v < 4; ++v)
      total += std::exp(z[b * 4 + v]);
    double norm = std::log(total);
    loss += (norm - z[b * 4 + static_cast<size_t>(target.data[b])] + zLoss * norm * norm) / 3;
  }
  EXPECT_NEAR(interp::interpret(*program, inputs).loss, loss, 1e-12);
}

TEST(Loss, CrossEntropyIsItsFormula) {
  checkCrossEntropy("", 0);
  checkCrossEntropy("; z_loss = 0.25", 0.25);
}

} // namespace
} // namespace stg::stdlib
