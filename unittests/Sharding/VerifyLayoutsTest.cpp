//===- VerifyLayoutsTest.cpp - programs whose layouts do not fit ---------------===//
// One sound program, and for each rule of the verifier a change that breaks it.
//===----------------------------------------------------------------------===//
#include "stg/Sharding/VerifyLayouts.h"
#include "stg/IR/Reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace stg;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

constexpr const char *kSound = R"(stgir explicit
program p mode train
mesh dp = 2, tp = 2
sizes B = 4, D = 4, F = 4
input x : f32[B, D]
body front {
  input x : f32[B, D] layout [B/dp, D]
  %x : f32[B, D] layout [B/dp, D] = input x kernel 0
  output x = %x
}
body linear {
  input x : f32[B, D] layout [B/dp, D]
  weight w : f32[D, F] trained layout [D/tp, F] buffer [D/tp, F @ dp]
  state m : f32[D, F] layout [D/tp, F]
  %x : f32[B, D] layout [B/dp, D] = input x kernel 0
  %w : f32[D, F] layout [D/tp, F] = weight w kernel 0
  %s : f32[B, D] layout [B/dp, D/tp] = shard(%x) over (1) to D kernel 1
  %p : f32[B, F] layout [B/dp, F @ tp] = contract(%s, %w) sum(D) kernel 1 compute (0, 2)
  %c : f32[] layout [] = constant 2 kernel 1
  %h : f32[B, F] layout [B/dp, F @ tp] = mul(%p, %c) kernel 1 compute (0, -1)
  %q : f32[B, F] layout [B/dp, F @ tp] = add(%p, %h) kernel 1 compute (0, -1)
  %y : f32[B, F] layout [B/dp, F] = all_reduce(%q) over (1) kernel 2
  %z : f32[B, F] layout [B/dp, F] = tanh(%y) kernel 3 compute (0, -1)
  %v : f32[B, F] layout [B/dp, F/tp] = shard(%z) over (1) to F kernel 4
  %t : f32[B] layout [B/dp @ max(tp)] = reduce(%v) max(F) kernel 4 compute (0, 1)
  %u : f32[B] layout [B/dp] = all_reduce(%t) over (1) max kernel 4
  %dw : f32[D, F] layout [D/tp, F @ dp] = contract(%s, %z) sum(B) part weight-grad kernel 5 compute (2, 0)
  accumulate w(%dw) part weight-grad kernel 5
  %g : f32[D, F] layout [D/tp, F @ dp] = gradient w part sync kernel 6
  %r : f32[D, F] layout [D/tp, F] = all_reduce(%g) over (0) part sync kernel 6
  %m : f32[D, F] layout [D/tp, F] = state m part step kernel 7
  %m1 : f32[D, F] layout [D/tp, F] = add(%m, %r) part step kernel 7 compute (-1, 0)
  update m(%m1) part step kernel 7
  %w1 : f32[D, F] layout [D/tp, F] = sub(%w, %m1) part step kernel 7 compute (-1, 0)
  assign w(%w1) part step kernel 7
  output z = %z
  output u = %u
}
unit @front : front(x = input x)
unit @linear : linear(x = @front:x)
)";

/// What the verifier says of the sound program with `from` replaced by `to` everywhere.
std::vector<std::string> faultsOf(const std::string &from = "", const std::string &to = "") {
  std::string text = kSound;
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  SourceManager sources;
  Diagnostics diags(sources);
  std::optional<Program> program = readProgram(sources.addBuffer("test.stgir", text), diags);
  for (const Diagnostic *diagnostic : diags.sorted())
    ADD_FAILURE() << diagnostic->message << "\n" << text;
  std::vector<std::string> faults;
  if (program)
    for (const Violation &violation : verifyLayouts(*program))
      faults.push_back(violation.op + " " + violation.text);
  return faults;
}

TEST(VerifyLayouts, ASoundProgram) { EXPECT_THAT(faultsOf(), IsEmpty()); }

struct Broken {
  const char *name;
  const char *from, *to;
  const char *fault; ///< the first
};

constexpr Broken kBroken[] = {
    // What crosses from unit to unit.
    {"PartialOutput", "output z = %z", "output z = %q", "output z of body linear leaves the unit as a partial value"},
    {"InputThatComesOtherwise", "  input x : f32[B, D] layout [B/dp, D]\n  %x : f32[B, D] layout [B/dp, D] = input x",
     "  input x : f32[B, D] layout [B, D/dp]\n  %x : f32[B, D] layout [B, D/dp] = input x",
     "unit linear takes x in another layout than it comes"},
    // Slots and what reads and writes them.
    {"Input", "  weight w",
     "  input y : f32[B, D] layout [B, D]\n  %n : f32[B, D] layout [B/dp, D] = input y kernel 0\n  weight w",
     "is [B/dp, D], its slot [B, D]"},
    {"Weight",
     "%w : f32[D, F] layout [D/tp, F] =", "%w : f32[D, F] layout [D, F/tp] =", "is [D, F/tp], its slot [D/tp, F]"},
    {"State", "state m : f32[D, F] layout [D/tp, F]", "state m : f32[D, F] layout [D, F]",
     "is [D/tp, F], its slot [D, F]"},
    {"Gradient", "%g : f32[D, F] layout [D/tp, F @ dp] =", "%g : f32[D, F] layout [D/tp, F] =",
     "is [D/tp, F], its slot [D/tp, F @ dp]"},
    {"Accumulate", "accumulate w(%dw)", "accumulate w(%w)", "is [D/tp, F], its slot [D/tp, F @ dp]"},
    {"Update", "update m(%m1)", "update m(%g)", "is [D/tp, F @ dp], its slot [D/tp, F]"},
    {"Assign", "assign w(%w1)", "assign w(%g)", "is [D/tp, F @ dp], its slot [D/tp, F]"},
    {"SlotWithoutLayout", " buffer [D/tp, F @ dp]", "", "has a slot without a layout"},
    // Conversions.
    {"ConvertThatStayed", "shard(%x) over (1) to D", "convert(%x) to [B/dp, D/tp]", "is not explicit"},
    {"ConvertElsewhere", "shard(%x) over (1) to D", "convert(%x) to [B/dp, D]", "has a result in [B/dp, D/tp]"},
    {"CollectiveOfAnotherLayout", "shard(%x) over (1) to D", "reduce_scatter(%x) over (1) to D",
     "cannot be applied to [B/dp, D]"},
    {"CollectiveElsewhere", "%y : f32[B, F] layout [B/dp, F] =", "%y : f32[B, F] layout [B/dp, F/tp] =",
     "has a result in [B/dp, F/tp] instead of [B/dp, F]"},
    // Compute layouts.
    {"NoComputeLayout", "tanh(%y) kernel 3 compute (0, -1)", "tanh(%y) kernel 3", "has no compute layout"},
    {"NoSuchFactor", "tanh(%y) kernel 3 compute (0, -1)", "tanh(%y) kernel 3 compute (0, 2)",
     "computes on a factor that it has not"},
    // Partial values.
    {"PartialOperandOfAMap", "tanh(%y)", "tanh(%q)", "needs the values of a partial operand"},
    {"PartialOperandOfAProduct", "mul(%p, %c)", "mul(%p, %p)", "needs the values of a partial operand"},
    {"PartialOperandThatIsSplit", "add(%p, %h) kernel 1 compute (0, -1)", "add(%p, %h) kernel 1 compute (0, 1)",
     "needs the values of a partial operand"},
    {"MixedOperands", "add(%m, %r)", "add(%m, %g)", "mixes partial and other operands over dp"},
    {"LostPartialSum", "%q : f32[B, F] layout [B/dp, F @ tp] =", "%q : f32[B, F] layout [B/dp, F] =",
     "loses that its operands are partial over tp"},
    // Factors and places.
    {"OperandThatDoesNotFit", "contract(%s, %w) sum(D) kernel 1 compute (0, 2)",
     "contract(%x, %w) sum(D) kernel 1 compute (0, 2)", "finds operand 0 in [B/dp, D], which does not fit tp"},
    {"OperandThatIsSplitInstead", "tanh(%y) kernel 3 compute (0, -1)", "tanh(%y) kernel 3 compute (-1, -1)",
     "finds operand 0 in [B/dp, F], which does not fit dp"},
    {"ResultThatIsNotSplit", "%z : f32[B, F] layout [B/dp, F] =", "%z : f32[B, F] layout [B, F] =",
     "has result 0 in [B, F], which does not fit dp"},
    {"SumThatIsNotPartial", "%p : f32[B, F] layout [B/dp, F @ tp] =", "%p : f32[B, F] layout [B/dp, F] =",
     "has result 0 in [B/dp, F], which does not fit tp"},
    {"MaximumThatIsASum", "%t : f32[B] layout [B/dp @ max(tp)] =", "%t : f32[B] layout [B/dp @ tp] =",
     "has result 0 in [B/dp @ tp], which does not fit tp"},
    {"ResultThatIsSplitByNobody", "%m1 : f32[D, F] layout [D/tp, F] =", "%m1 : f32[D, F] layout [D/tp, F/dp] =",
     "has result 0 in [D/tp, F/dp], which does not fit dp"},
};

class VerifyLayoutsBroken : public testing::TestWithParam<Broken> {};

TEST_P(VerifyLayoutsBroken, IsFound) {
  const Broken &broken = GetParam();
  std::vector<std::string> faults = faultsOf(broken.from, broken.to);
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults.front(), HasSubstr(broken.fault));
}

INSTANTIATE_TEST_SUITE_P(Rules, VerifyLayoutsBroken, testing::ValuesIn(kBroken),
                         [](const testing::TestParamInfo<Broken> &info) { return info.param.name; });

} // namespace
