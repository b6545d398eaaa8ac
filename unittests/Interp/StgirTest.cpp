//===- StgirTest.cpp - programs read from text -----------------------------===//
#include "stg/IR/Reader.h"
#include "stg/Interp/Interpreter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stg::interp {
namespace {

InterpResult run(const std::string &text) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("test.stgir", text), diags);
  if (!program) {
    ADD_FAILURE() << diags.sorted().front()->message;
    return {};
  }
  return interpret(*program, {}, KeepValues::All);
}

/// Self-attention inside a define block, whose keys stand on a dim of their own although the caller has S for both.
constexpr const char *kSelfAttention = R"(stgir typed
program pair mode forward
sizes S = 3, C = 2
input q : f32[S, C]
input k : f32[S, C]

body rows {
  input q : f32[S, C]
  input k : f32[T = S, C]
  %q : f32[S, C] = input q kernel 0
  %k : f32[T = S, C] = input k kernel 0
  %score : f32[S, T = S] = contract(%q, %k) sum(C) kernel 1
  %seen : f32[S, T = S] = masked(%score) causal query S key T kernel 1
  %y : f32[S] = reduce(%seen) max(T) kernel 1
  output y = %y
}
body all {
  input q : f32[S, C]
  input k : f32[S, C]
  %q : f32[S, C] = input q kernel 0
  %k : f32[S, C] = input k kernel 0
  %y : f32[S] = call rows(%q{s, c}, %k{t, c}) -> (f32{s}) factors (s is [S] map, t is [S] whole, c is [C] whole) define rows kernel 1
  output y = %y
}
unit @all : all(q = input q, k = input k)
output y = @all:y
)";

TEST(Stgir, ADefineBlockMayTellDimsApartThatAreOneToTheCaller) {
  InterpResult result = run(kSelfAttention);
  const Tensor *q = result.unitValue("all.q"), *k = result.unitValue("all.k"), *y = result.output("y");
  ASSERT_TRUE(q && k && y);
  auto dot = [&](int s, int t) { return q->data[s * 2] * k->data[t * 2] + q->data[s * 2 + 1] * k->data[t * 2 + 1]; };
  EXPECT_NEAR(y->data[0], dot(0, 0), 1e-12);
  EXPECT_NEAR(y->data[1], std::max(dot(1, 0), dot(1, 1)), 1e-12);
}

} // namespace
} // namespace stg::interp
