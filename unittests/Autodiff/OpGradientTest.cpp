//===- OpGradientTest.cpp - the gradient rule of every op and function ----------===//
// One body whose weights lead to %y by the op in question; the loss is the sum of sin(y), so that every element of y
// has a cotangent of its own.
//===----------------------------------------------------------------------===//
#include "GradientCheck.h"
#include "gtest/gtest.h"
#include <set>

namespace stg {
namespace {

/// `leaves` are slots; `ops` define %y, whose dims are `dims`.
std::optional<Program> programOf(const std::string &leaves, const std::string &ops, const std::string &dims) {
  std::string inputs;
  return readTyped(R"(stgir elaborated
program p mode train
sizes A = 2, B = 3, C = 4
optimizer sgd
input ids : i32[A, B]
input x : f32[A, B]
body all {
  input ids : i32[A, B]
  input x : f32[A, B]
  )" + leaves + R"(
  %ids = input ids kernel 0
  %x = input x kernel 0
  )" + ops + R"(
  %s = sin(%y) -> f32 kernel 90
  %l = reduce(%s) sum()" +
                   dims +
                   R"() -> f32 kernel 91
  loss %l
}
unit @all : all(ids = input ids, x = input x)
)");
}

std::set<OpKind> &seenKinds() {
  static std::set<OpKind> kinds;
  return kinds;
}
std::set<MapFn> &seenFunctions() {
  static std::set<MapFn> functions;
  return functions;
}

void check(const std::string &leaves, const std::string &ops, const std::string &dims,
           interp::InterpInputs inputs = {}) {
  SCOPED_TRACE(ops);
  std::optional<Program> program = programOf(leaves, ops, dims);
  ASSERT_TRUE(program);
  for (const Op &op : program->bodies[0].ops) {
    seenKinds().insert(op.kind);
    if (op.kind == OpKind::Map)
      seenFunctions().insert(op.get<MapFields>().fn);
  }
  checkGradients(*program, std::move(inputs));
}

const char *const kVW = "weight v : f32[A, B] weight w : f32[A, B]";
const char *const kReadVW = "%v = weight v kernel 0 %w = weight w kernel 0 ";
const char *const kBroadcast = "weight v : f32[A, B] weight w : f32[B] weight u : f32[]";
const char *const kReadBroadcast = "%v = weight v kernel 0 %w = weight w kernel 0 %u = weight u kernel 0 ";

TEST(OpGradient, FunctionsOfOneOperand) {
  for (const char *fn :
       {"neg", "abs", "exp", "sin", "cos", "sigmoid", "softplus", "square", "tanh", "relu", "silu", "gelu", "cast"})
    check("weight w : f32[A, B]", std::string("%w = weight w kernel 0 %y = ") + fn + "(%w) -> f32 kernel 1", "A, B");
  for (const char *fn : {"log", "sqrt", "rsqrt"})
    check("weight w : f32[A, B]",
          std::string("%w = weight w kernel 0 %q = square(%w) -> f32 kernel 1 %c = constant 0.3 -> f32 kernel 1 "
                      "%p = add(%q, %c) -> f32 kernel 1 %y = ") +
              fn + "(%p) -> f32 kernel 1",
          "A, B");
}

TEST(OpGradient, FunctionsOfSeveralOperands) {
  for (const char *fn : {"add", "sub", "mul", "maximum", "minimum", "sigmoid_grad", "tanh_grad", "silu_grad",
                         "gelu_grad", "where_positive"})
    check(kVW, std::string(kReadVW) + "%y = " + fn + "(%v, %w) -> f32 kernel 1", "A, B");
  for (const char *fn : {"div", "quantise"})
    check(kVW, std::string(kReadVW) + "%e = exp(%w) -> f32 kernel 1 %y = " + fn + "(%v, %e) -> f32 kernel 1", "A, B");
  check(kVW, std::string(kReadVW) + "%r = relu(%w) -> f32 kernel 1 %y = where_equal(%v, %w, %r) -> f32 kernel 1",
        "A, B");
  for (const char *fn : {"add", "mul", "maximum", "minimum"})
    check(kVW, std::string(kReadVW) + "%y = " + fn + "(%v, %w, %x) -> f32 kernel 1", "A, B");
}

TEST(OpGradient, OperandsThatLackDimsAreSummedOver) {
  for (const char *fn : {"add", "mul", "maximum"})
    check(kBroadcast, std::string(kReadBroadcast) + "%y = " + fn + "(%w, %v, %u) -> f32 kernel 1", "A, B");
  for (const char *fn : {"sub", "silu_grad"})
    check(kBroadcast,
          std::string(kReadBroadcast) + "%z = " + fn + "(%w, %v) -> f32 kernel 1 %y = " + fn +
              "(%z, %u) -> f32 kernel 2",
          "A, B");
  check(kBroadcast, std::string(kReadBroadcast) + "%e = exp(%w) -> f32 kernel 1 %y = div(%v, %e) -> f32 kernel 1",
        "A, B");
  check(kBroadcast, std::string(kReadBroadcast) + "%e = exp(%v) -> f32 kernel 1 %y = div(%w, %e) -> f32 kernel 1",
        "A, B");
}

TEST(OpGradient, AValueInSeveralPlaces) {
  check(kVW, std::string(kReadVW) + "%y = mul(%v, %w, %v, %v) -> f32 kernel 1", "A, B");
  check(kVW, std::string(kReadVW) + "%y = add(%v, %w, %v) -> f32 kernel 1", "A, B");
  check(kVW, std::string(kReadVW) + "%y = contract(%v, %w, %v) sum(B) -> f32 kernel 1", "A");
  // Two ops read one slot.
  check("weight w : f32[A, B]",
        "%w = weight w kernel 0 %w2 = weight w kernel 0 %e = exp(%w) -> f32 kernel 1 %y = mul(%e, %w2) -> f32 kernel 1",
        "A, B");
}

TEST(OpGradient, Contractions) {
  const char *leaves = "weight v : f32[A, B] weight w : f32[B, C] weight u : f32[C]";
  const char *read = "%v = weight v kernel 0 %w = weight w kernel 0 %u = weight u kernel 0 ";
  check(leaves, std::string(read) + "%y = contract(%v, %w) sum(B) -> f32 kernel 1", "A, C");
  check(leaves, std::string(read) + "%y = contract(%w, %v) sum(B) -> f32 kernel 1", "C, A");
  check(leaves, std::string(read) + "%y = contract(%v, %w, %u) sum(B, C) -> f32 kernel 1", "A");
  check(leaves, std::string(read) + "%y = contract(%v, %u) sum() -> f32 kernel 1", "A, B, C");
  check(leaves, std::string(read) + "%y = contract(%v, %u) sum(A) -> f32 kernel 1", "B, C");
  check(leaves, std::string(read) + "%y = contract(%v) sum(A) -> f32 kernel 1", "B");
  // The cotangent of a sum lacks dims.
  check(leaves,
        std::string(read) + "%c = contract(%v, %w) sum(B) -> f32 kernel 1 %y = reduce(%c) sum(C) -> f32 kernel 2", "A");
}

TEST(OpGradient, Reductions) {
  for (const char *fn : {"sum", "max", "min", "prod"}) {
    check(kVW, std::string(kReadVW) + "%z = mul(%v, %w) -> f32 kernel 1 %y = reduce(%z) " + fn + "(B) -> f32 kernel 1",
          "A");
    check(kVW, std::string(kReadVW) + "%y = reduce(%v) " + fn + "(A, B) -> f32 kernel 1", "");
  }
}

TEST(OpGradient, ShortCotangentsReachEveryRule) {
  // The sum over B makes the cotangent of %z short; each op then sees it.
  for (const char *op : {"neg(%v) -> f32", "mul(%v, %w) -> f32", "add(%v, %w) -> f32", "dropout(%v) p 0.3 stream 0",
                         "masked(%v) causal query A key B", "view(%v) A as [A2 = 2]", "view(%v) B as [B2 = 3]",
                         "concat(%v, %w) along [B = 6] -> f32"}) {
    std::string made = op;
    std::string over = made.find("B2") != std::string::npos ? "B2" : "B";
    std::string left = made.find("A2") != std::string::npos ? "A2" : "A";
    if (made.find("masked") != std::string::npos)
      made += " zero";
    check(kVW, std::string(kReadVW) + "%z = " + made + " kernel 1 %y = reduce(%z) sum(" + over + ") -> f32 kernel 2",
          left);
  }
  check(kVW, std::string(kReadVW) + "%z = add(%v, %w) -> f32 kernel 1 %y = reduce(%z) sum(A, B) -> f32 kernel 2", "");
  check(kBroadcast,
        std::string(kReadBroadcast) + "%z = add(%v, %w, %u) -> f32 kernel 1 %y = reduce(%z) sum(A, B) -> f32 kernel 2",
        "");
}

TEST(OpGradient, DropoutAndMasks) {
  check(kVW, std::string(kReadVW) + "%y = dropout(%v) p 0.4 stream 3 kernel 1", "A, B");
  // The cotangent comes in another order of dims than the operand.
  check("weight v : f32[A, B] weight w : f32[B, A]",
        "%v = weight v kernel 0 %w = weight w kernel 0 %d = dropout(%v) p 0.4 stream 3 kernel 1 "
        "%y = mul(%w, %d) -> f32 kernel 1",
        "A, B");
  check(kVW, std::string(kReadVW) + "%m = masked(%v) causal query A key B kernel 1 %y = exp(%m) -> f32 kernel 1",
        "A, B");
}

TEST(OpGradient, Views) {
  const char *leaf = "weight v : f32[A, B, C]";
  std::string read = "%v = weight v kernel 0 ";
  check(leaf, read + "%y = view(%v) A as [A2 = 2] kernel 1", "A2, B, C");
  check(leaf, read + "%y = view(%v) C as [C1 = 2, C2 = 2] kernel 1", "A, B, C1, C2");
  check(leaf, read + "%y = view(%v) (A, B) as [M = 6] kernel 1", "M, C");
  check(leaf, read + "%y = view(%v) (B, A) as [M = 6] order (C, M) kernel 1", "M, C");
  check(leaf, read + "%y = view(%v) (A, C) as [M = 8], B as [A = 3] kernel 1", "M, A");
  check(leaf, read + "%y = view(%v) order (C, A, B) kernel 1", "A, B, C");
  check(leaf, read + "%m = view(%v) (A, C) as [M = 8] kernel 1 %y = reduce(%m) sum(M) -> f32 kernel 2", "B");
}

TEST(OpGradient, MovedData) {
  check(kVW, std::string(kReadVW) + "%y = concat(%v, %w, %v) along [B = 9] -> f32 kernel 1", "A, B");
  check("weight v : f32[A, B] weight w : f32[B]",
        "%v = weight v kernel 0 %w = weight w kernel 0 %y = concat(%w, %v) along [B = 6] -> f32 kernel 1", "A, B");
  check(kVW, std::string(kReadVW) + "%y = at(%v) B index [1] kernel 1", "A");
  check(kVW, std::string(kReadVW) + "%y = slice(%v) B as [Q = 2] from [1] kernel 1", "A, Q");
  check(kVW,
        std::string(kReadVW) + "%q = slice(%v) B as [B = 2] from [1] kernel 1 %y = reduce(%q) sum(B) -> f32 kernel 2",
        "A");
  check(kVW, std::string(kReadVW) + "%y = pad(%v) B as [Q = 5] from [1] kernel 1", "A, Q");
  check(kVW, std::string(kReadVW) + "%y = pad(%v) as [Q = 5] from [1] kernel 1", "A, B, Q");
  check(kVW, std::string(kReadVW) + "%p = pad(%v) as [Q = 5] from [1] kernel 1 %y = reduce(%p) sum(Q) -> f32 kernel 2",
        "A, B");
  check("weight v : f32[B]", "%v = weight v kernel 0 %y = broadcast(%v) to [A, B] kernel 1", "A, B");
  check("weight v : f32[B]",
        "%v = weight v kernel 0 %y0 = broadcast(%v) to [A, B] kernel 1 %y = reduce(%y0) sum(A) -> f32 kernel 2", "B");
}

TEST(OpGradient, Indexed) {
  check("weight v : f32[C, B]", "%v = weight v kernel 0 %y = gather(%v, %ids) C kernel 1", "A, B");
  check("weight v : f32[C]", "%v = weight v kernel 0 %y = gather(%v, %ids) C kernel 1", "A, B");
  check("weight v : f32[A, B, C]", "%v = weight v kernel 0 %y = gather(%v, %ids) C kernel 1", "A, B");
  check("weight v : f32[C]",
        "%v = weight v kernel 0 %g = gather(%v, %ids) C kernel 1 %y = reduce(%g) sum(B) -> f32 kernel 2", "A");
  check(kVW, std::string(kReadVW) + "%y = scatter(%v, %ids) into [E = 4] replacing (A, B) -> f32 kernel 1", "E");
  check(kVW, std::string(kReadVW) + "%y = scatter(%v, %ids) into [E = 4] -> f32 kernel 1", "A, B, E");
  check("weight v : f32[A, C]",
        "%v = weight v kernel 0 %y = scatter(%v, %ids) into [B = 4] replacing (B) -> f32 kernel 1", "A, B, C");
  check("weight v : f32[]", "%v = weight v kernel 0 %y = scatter(%v, %ids) into [E = 4] -> f32 kernel 1", "A, B, E");
  check("weight v : f32[A]",
        "%v = weight v kernel 0 %p = scatter(%v, %ids) into [E = 4] replacing (B) -> f32 kernel 1 "
        "%y = reduce(%p) sum(E) -> f32 kernel 2",
        "A");
}

TEST(OpGradient, StoppedGradientsAndStates) {
  std::optional<Program> program =
      programOf("weight v : f32[A, B] weight w : f32[A, B] state s : f32[A, B]",
                std::string(kReadVW) + "%s0 = state s kernel 0 %t = stop(%w) kernel 1 "
                                       "%y = mul(%v, %t, %s0) -> f32 kernel 1 update s(%v) kernel 2",
                "A, B");
  ASSERT_TRUE(program);
  Program result = differentiated(*program);
  interp::InterpResult run = interp::interpret(result, {});
  EXPECT_TRUE(run.gradient("all.v"));
  EXPECT_FALSE(run.gradient("all.w"));
  EXPECT_FALSE(result.bodies[0].weights[1].trained);
}

TEST(OpGradient, EveryKindAndFunctionIsAbove) {
  constexpr OpKind kRules[] = {OpKind::Contract, OpKind::Map,    OpKind::Reduce,   OpKind::Dropout, OpKind::Masked,
                               OpKind::View,     OpKind::Concat, OpKind::At,       OpKind::Slice,   OpKind::Gather,
                               OpKind::Scatter,  OpKind::Pad,    OpKind::Broadcast};
  if (seenKinds().empty())
    GTEST_SKIP() << "the other tests of this file did not run";
  for (OpKind kind : kRules)
    EXPECT_TRUE(seenKinds().count(kind)) << mnemonic(kind).str();
#define FN(name, ...) EXPECT_TRUE(seenFunctions().count(MapFn::name)) << #name;
#include "stg/IR/MapFns.def"
}

} // namespace
} // namespace stg
