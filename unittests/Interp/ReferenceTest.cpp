//===- ReferenceTest.cpp - std ops without a define block, by hand ---------===//
#include "CallBuilder.h"
#include "stg/Interp/References.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>

namespace stg::interp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

void expectNear(const Tensor *actual, const std::vector<double> &data) {
  ASSERT_TRUE(actual);
  EXPECT_THAT(actual->data, Pointwise(testing::DoubleNear(1e-9), data));
}

/// attend of q[b, s, (g, r), c], k[b, t, g, c], v[b, t, g, d] on dims B S KV R Dh and S again for t.
struct Attention {
  TinyProgram tiny;
  CallFields call;
  std::vector<ValueId> operands;

  Attention(int64_t heads, int64_t shared, int64_t positions, int64_t width) {
    call = makeCall(tiny, {"attend",
                           {{"b", "B", 1},
                            {"s", "S", positions},
                            {"g", "KV", heads},
                            {"r", "R", shared},
                            {"c", "Dh", width},
                            {"t", "S", positions},
                            {"d", "Dh", width}},
                           {{"b", "s", "g", "r", "c"}, {"b", "t", "g", "c"}, {"b", "t", "g", "d"}},
                           {{"b", "s", "g", "r", "d"}, {"b", "s", "g", "r"}}});
  }
  void setMask(MaskKind kind, std::initializer_list<int64_t> parameters = {}) {
    MaskValue mask{kind, {}};
    for (int64_t parameter : parameters)
      mask.parameters.push_back(tiny.size(parameter));
    call.statics.emplace_back(tiny.name("mask"), mask);
  }
  InterpResult run() {
    ValueId o = tiny.op(OpKind::Call, operands, call, "o", 2);
    tiny.output("o", o);
    tiny.output("lse", ValueId(o.index + 1));
    return tiny.run();
  }
};

/// Two positions, one head, two channels: q k / sqrt 2 with q = sqrt 2 I is k itself.
Attention twoByTwo() {
  Attention attention(1, 1, 2, 2);
  TinyProgram &tiny = attention.tiny;
  const double root = std::sqrt(2.0);
  NamedSizes kv = {{"B", 1}, {"S", 2}, {"KV", 1}, {"Dh", 2}};
  attention.operands = {
      tiny.input("q", tiny.tensor({{"B", 1}, {"S", 2}, {"KV", 1}, {"R", 1}, {"Dh", 2}}, {root, 0, 0, root})),
      tiny.input("k", tiny.tensor(kv, {1, 2, 3, 4})), tiny.input("v", tiny.tensor(kv, {10, 20, 30, 40}))};
  return attention;
}

TEST(Attend, TwoByTwoByHand) {
  // Logits: row 0 (1, 3), row 1 (2, 4). Both rows: weights 1/(1 + e^2), e^2/(1 + e^2).
  Attention attention = twoByTwo();
  attention.setMask(MaskKind::Full);
  InterpResult result = attention.run();
  const double second = std::exp(2.0) / (1 + std::exp(2.0)), log = std::log(1 + std::exp(-2.0));
  expectNear(result.output("o"), {10 + 20 * second, 20 + 20 * second, 10 + 20 * second, 20 + 20 * second});
  expectNear(result.output("lse"), {3 + log, 4 + log});
}

TEST(Attend, TheFirstQueryOfACausalMaskSeesItselfOnly) {
  Attention attention = twoByTwo(); // causal is the default
  InterpResult result = attention.run();
  const double second = std::exp(2.0) / (1 + std::exp(2.0));
  expectNear(result.output("o"), {10, 20, 10 + 20 * second, 20 + 20 * second});
  expectNear(result.output("lse"), {1, 4 + std::log(1 + std::exp(-2.0))});
}

TEST(Attend, SoftcapBoundsTheLogits) {
  Attention attention = twoByTwo();
  attention.setMask(MaskKind::Full);
  attention.call.statics.emplace_back(attention.tiny.name("softcap"), 1.0);
  double a = std::tanh(1.0), b = std::tanh(3.0);
  double second = std::exp(b) / (std::exp(a) + std::exp(b));
  InterpResult result = attention.run();
  EXPECT_NEAR(result.output("o")->data[0], 10 + 20 * second, 1e-9);
  EXPECT_NEAR(result.output("lse")->data[0], std::log(std::exp(a) + std::exp(b)), 1e-9);
}

TEST(Attend, ABiasIsAddedPerQueryAndKey) {
  Attention attention = twoByTwo();
  attention.setMask(MaskKind::Full);
  // Evens out the logits of both rows, so the result is the mean of the values.
  attention.operands.push_back(
      attention.tiny.input("bias", attention.tiny.tensor({{"S", 2}, {"T", 2}}, {2, 0, 1, -1})));
  attention.call.factors[5].dim.name = attention.tiny.name("T");
  for (int i : {1, 2}) { // keys and values on T, so that the bias can have both dims
    ViewItem rename{attention.tiny.names({"S"}), {attention.tiny.dim({"T", 2})}, false};
    attention.operands[i] = attention.tiny.op(OpKind::View, {attention.operands[i]}, ViewFields{{rename}, {}});
  }
  attention.call.operandFactors.push_back({1, 5});
  InterpResult result = attention.run();
  expectNear(result.output("o"), {20, 30, 20, 30});
}

TEST(Attend, AWindowOfOneCopiesTheValues) {
  Attention attention = twoByTwo();
  attention.setMask(MaskKind::Window, {1});
  expectNear(attention.run().output("o"), {10, 20, 30, 40});
}

/// The same made-up q, k, v for a whole call; k and v are per group, q per head.
InterpResult madeUpAttention(MaskKind kind, std::initializer_list<int64_t> parameters) {
  Attention attention(2, 3, 5, 4);
  TinyProgram &tiny = attention.tiny;
  attention.operands = {
      tiny.input("q", tiny.type({{"B", 1}, {"S", 5}, {"KV", 2}, {"R", 3}, {"Dh", 4}})),
      tiny.input("k", tiny.type({{"B", 1}, {"S", 5}, {"KV", 2}, {"Dh", 4}})),
      tiny.input("v", tiny.type({{"B", 1}, {"S", 5}, {"KV", 2}, {"Dh", 4}})),
  };
  attention.setMask(kind, parameters);
  return attention.run();
}

TEST(Attend, MasksThatLeaveTheSamePairsAgree) {
  InterpResult causal = madeUpAttention(MaskKind::Causal, {});
  auto differs = [&](const InterpResult &other) { return largestDifference(*causal.output("o"), *other.output("o")); };
  EXPECT_EQ(differs(madeUpAttention(MaskKind::Window, {5})), 0);
  EXPECT_EQ(differs(madeUpAttention(MaskKind::Chunk, {5})), 0);
  EXPECT_EQ(differs(madeUpAttention(MaskKind::Prefix, {1})), 0);
  EXPECT_EQ(differs(madeUpAttention(MaskKind::Documents, {5})), 0);
  EXPECT_GT(differs(madeUpAttention(MaskKind::Window, {4})), 1e-3);
  EXPECT_GT(differs(madeUpAttention(MaskKind::Documents, {2, 3})), 1e-3);
  EXPECT_GT(differs(madeUpAttention(MaskKind::Full, {})), 1e-3);
}

TEST(Attend, GroupedQueriesShareTheirKeysAndValues) {
  // Each of the 6 heads (g, r) alone, with the keys and values of g, gives what the grouped call gives for it.
  InterpResult grouped = madeUpAttention(MaskKind::Causal, {});
  TinyProgram shared;
  Tensor q = madeUpTensor(ElementType::F32,
                          shared.tensor({{"B", 1}, {"S", 5}, {"KV", 2}, {"R", 3}, {"Dh", 4}}, {}).dims, 0, "q", 1);
  TensorDims kvDims = shared.tensor({{"B", 1}, {"S", 5}, {"KV", 2}, {"Dh", 4}}, {}).dims;
  Tensor k = madeUpTensor(ElementType::F32, kvDims, 0, "k", 1), v = madeUpTensor(ElementType::F32, kvDims, 0, "v", 1);
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t s = 0; s < 5; ++s) {
        std::vector<double> weights;
        double total = 0;
        for (int64_t t = 0; t <= s; ++t) {
          double logit = 0;
          for (int64_t c = 0; c < 4; ++c)
            logit += q.data[((s * 2 + g) * 3 + r) * 4 + c] * k.data[(t * 2 + g) * 4 + c];
          weights.push_back(std::exp(logit / 2));
          total += weights.back();
        }
        for (int64_t c = 0; c < 4; ++c) {
          double expected = 0;
          for (int64_t t = 0; t <= s; ++t)
            expected += weights[t] / total * v.data[(t * 2 + g) * 4 + c];
          EXPECT_NEAR(grouped.output("o")->data[((s * 2 + g) * 3 + r) * 4 + c], expected, 1e-12);
        }
      }
}

TEST(Attend, TakesACompositeHeadAsOneFactorName) {
  // `h` bound to (KV, R) is two factors called h.
  InterpResult grouped = madeUpAttention(MaskKind::Causal, {});
  TinyProgram tiny;
  NamedSizes perHead = {{"B", 1}, {"S", 5}, {"KV", 2}, {"R", 3}, {"Dh", 4}};
  ValueId q = tiny.input("q", tiny.type(perHead));
  auto spread = [&](const char *name) { // keys and values copied to every head of the group
    ValueId one = tiny.input(name, tiny.type({{"B", 1}, {"S", 5}, {"KV", 2}, {"Dh", 4}}));
    ValueId ones = tiny.input(std::string("ones.") + name, tiny.tensor({{"R", 3}}, {1, 1, 1}));
    return tiny.contract({one, ones}, {});
  };
  ValueId k = spread("k"), v = spread("v");
  CallFields call = makeCall(
      tiny,
      {"attend", {{"b", "B", 1}, {"s", "S", 5}, {"h", "KV", 2}, {"h", "R", 3}, {"c", "Dh", 4}, {"t", "S", 5}}, {}, {}});
  call.operandFactors = {{0, 1, 2, 3, 4}, {0, 5, 2, 3, 4}, {0, 5, 2, 3, 4}};
  call.resultFactors = {{0, 1, 2, 3, 4}, {0, 1, 2, 3}};
  call.resultElements = {ElementType::F32, ElementType::F32};
  tiny.output("o", tiny.op(OpKind::Call, {q, k, v}, call, "o", 2));
  Tensor o = *tiny.run().output("o");
  EXPECT_EQ(o.data, grouped.output("o")->data);
}

TEST(Rotary, TurnsHalvesByPosition) {
  TinyProgram tiny;
  // Two positions, four channels: pairs (0, 2) by p and (1, 3) by p / sqrt(base).
  ValueId x = tiny.input("x", tiny.tensor({{"S", 2}, {"Dh", 4}}, {1, 2, 3, 4, 1, 2, 3, 4}));
  CallFields call = makeCall(tiny, {"rotary", {{"s", "S", 2}, {"c", "Dh", 4}}, {{"s", "c"}}, {{"s", "c"}}});
  call.statics.emplace_back(tiny.name("base"), 100.0);
  ValueId y = tiny.op(OpKind::Call, {x}, call);
  call.statics.emplace_back(tiny.name("inverse"), true);
  tiny.output("back", tiny.op(OpKind::Call, {y}, call));
  tiny.output("y", y);
  InterpResult result = tiny.run();
  const double c1 = std::cos(1.0), s1 = std::sin(1.0), c2 = std::cos(0.1), s2 = std::sin(0.1);
  expectNear(result.output("y"), {1, 2, 3, 4, c1 - 3 * s1, 2 * c2 - 4 * s2, 3 * c1 + s1, 4 * c2 + 2 * s2});
  expectNear(result.output("back"), {1, 2, 3, 4, 1, 2, 3, 4});
}

TEST(Conv1d, IsCausal) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 1}, {"S", 3}, {"Di", 1}}, {1, 2, 3}));
  ValueId w = tiny.input("w", tiny.tensor({{"K", 2}, {"Di", 1}}, {10, 1}));
  CallFields call = makeCall(tiny, {"conv1d",
                                    {{"b", "B", 1}, {"s", "S", 3}, {"i", "Di", 1}, {"k", "K", 2}},
                                    {{"b", "s", "i"}, {"k", "i"}},
                                    {{"b", "s", "i"}}});
  // The last tap meets the present: y_t = 10 x_(t-1) + x_t.
  EXPECT_THAT(tiny.valueOf(tiny.op(OpKind::Call, {x, w}, call)).data, ElementsAre(1, 12, 23));
}

TEST(SelectiveScan, DecaysAndAdds) {
  TinyProgram tiny;
  NamedSizes sequence = {{"B", 1}, {"S", 2}, {"Di", 1}}, states = {{"B", 1}, {"S", 2}, {"N", 2}};
  std::vector<ValueId> operands = {
      tiny.input("x", tiny.tensor(sequence, {2, 3})),
      tiny.input("dt", tiny.tensor(sequence, {1, 0.5})),
      tiny.input("a", tiny.tensor({{"Di", 1}, {"N", 2}}, {0, std::log(4.0)})),
      tiny.input("bt", tiny.tensor(states, {1, 2, 1, 1})),
      tiny.input("ct", tiny.tensor(states, {1, 1, 1, 10})),
      tiny.input("d", tiny.tensor({{"Di", 1}}, {100})),
  };
  CallFields call =
      makeCall(tiny, {"selective_scan",
                      {{"b", "B", 1}, {"s", "S", 2}, {"i", "Di", 1}, {"n", "N", 2}},
                      {{"b", "s", "i"}, {"b", "s", "i"}, {"i", "n"}, {"b", "s", "n"}, {"b", "s", "n"}, {"i"}},
                      {{"b", "s", "i"}}});
  // h_0 = (2, 4); h_1 = (1 * 2 + 1.5, 2 * 4 + 1.5) = (3.5, 9.5).
  tiny.output("y", tiny.op(OpKind::Call, operands, call));
  expectNear(tiny.run().output("y"), {6 + 200, 3.5 + 95 + 300});
}

CallFields topkCall(TinyProgram &tiny, int64_t experts, int64_t choices) {
  return makeCall(tiny, {"topk",
                         {{"s", "S", 2}, {"e", "E", experts}, {"k", "K", choices}},
                         {{"s", "e"}},
                         {{"s", "k"}, {"s", "k"}},
                         {ElementType::I32, ElementType::F32}});
}

TEST(TopK, TakesTheBestFirstAndTheFirstOfEquals) {
  TinyProgram tiny;
  ValueId score = tiny.input("score", tiny.tensor({{"S", 2}, {"E", 4}}, {1, 4, 2, 3, 5, 5, 5, 1}));
  ValueId choice = tiny.op(OpKind::Call, {score}, topkCall(tiny, 4, 2), "choice", 2);
  tiny.output("choice", choice);
  tiny.output("p", ValueId(choice.index + 1));
  InterpResult result = tiny.run();
  EXPECT_THAT(result.output("choice")->data, ElementsAre(1, 3, 0, 1));
  EXPECT_EQ(result.output("choice")->element, ElementType::I32);
  EXPECT_THAT(result.output("p")->data, ElementsAre(4, 3, 5, 5));
}

TEST(TopK, StaysWithinTheBestGroups) {
  TinyProgram tiny;
  ValueId score = tiny.input("score", tiny.tensor({{"S", 2}, {"E", 4}}, {9, 1, 8, 7, 1, 2, 3, 2.5}));
  CallFields call = topkCall(tiny, 4, 2);
  call.statics.emplace_back(tiny.name("groups"), tiny.size(2));
  call.statics.emplace_back(tiny.name("top_groups"), tiny.size(1));
  tiny.output("choice", tiny.op(OpKind::Call, {score}, call, "choice", 2));
  EXPECT_THAT(tiny.run().output("choice")->data, ElementsAre(0, 1, 2, 3));
}

// The first group has the best expert, the second the best two.
TEST(TopK, MayTakeTheGroupsByTheirBestTwo) {
  TinyProgram tiny;
  ValueId score = tiny.input("score", tiny.tensor({{"S", 2}, {"E", 4}}, {9, 1, 8, 7, 1, 2, 0, 2.5}));
  CallFields call = topkCall(tiny, 4, 2);
  call.statics.emplace_back(tiny.name("groups"), tiny.size(2));
  call.statics.emplace_back(tiny.name("top_groups"), tiny.size(1));
  call.statics.emplace_back(tiny.name("group_best"), tiny.size(2));
  tiny.output("choice", tiny.op(OpKind::Call, {score}, call, "choice", 2));
  EXPECT_THAT(tiny.run().output("choice")->data, ElementsAre(2, 3, 1, 0));
}

TEST(TopK, ABiasMovesTheChoiceAndNotTheScores) {
  TinyProgram tiny;
  ValueId score = tiny.input("score", tiny.tensor({{"S", 2}, {"E", 3}}, {5, 4, 3, 1, 2, 3}));
  ValueId bias = tiny.input("bias", tiny.tensor({{"E", 3}}, {0, 0, 1.5}));
  CallFields call = topkCall(tiny, 3, 2);
  call.operandFactors.push_back({1});
  ValueId choice = tiny.op(OpKind::Call, {score, bias}, call, "choice", 2);
  tiny.output("choice", choice);
  tiny.output("p", ValueId(choice.index + 1));
  InterpResult result = tiny.run();
  EXPECT_THAT(result.output("choice")->data, ElementsAre(0, 2, 2, 1));
  EXPECT_THAT(result.output("p")->data, ElementsAre(5, 3, 3, 2));
}

struct Routing {
  TinyProgram tiny;
  ValueId x, choice, p;
  CallFields dispatch, combine;
  /// Three tokens of one channel, two choices among two experts of `slots` slots.
  explicit Routing(int64_t slots) {
    x = tiny.input("x", tiny.tensor({{"B", 1}, {"S", 3}, {"D", 1}}, {1, 10, 100}));
    choice = tiny.input("choice", tiny.tensor({{"B", 1}, {"S", 3}, {"K", 2}}, {0, 1, 1, 0, 1, 0}, ElementType::I32));
    p = tiny.input("p", tiny.tensor({{"B", 1}, {"S", 3}, {"K", 2}}, {0.5, 0.25, 1, 2, 3, 4}));
    std::vector<CallShape::FactorDim> factors = {{"b", "B", 1}, {"s", "S", 3}, {"d", "D", 1},
                                                 {"k", "K", 2}, {"e", "E", 2}, {"c", "C", slots}};
    dispatch = makeCall(tiny, {"dispatch", factors, {{"b", "s", "d"}, {"b", "s", "k"}}, {{"e", "c", "d"}}});
    combine =
        makeCall(tiny, {"combine", factors, {{"e", "c", "d"}, {"b", "s", "k"}, {"b", "s", "k"}}, {{"b", "s", "d"}}});
  }
};

TEST(Dispatch, FillsTheSlotsTokenByTokenAndDropsWhatDoesNotFit) {
  Routing routing(2);
  TinyProgram &tiny = routing.tiny;
  ValueId xe = tiny.op(OpKind::Call, {routing.x, routing.choice}, routing.dispatch);
  tiny.output("xe", xe);
  tiny.output("y", tiny.op(OpKind::Call, {xe, routing.choice, routing.p}, routing.combine));
  InterpResult result = tiny.run();
  EXPECT_THAT(result.output("xe")->data, ElementsAre(1, 10, 1, 10)); // both of token 2's are dropped
  EXPECT_THAT(result.output("y")->data, ElementsAre(0.75, 30, 0));
}

TEST(Dispatch, CombineUndoesItWhenAllFit) {
  Routing routing(3);
  TinyProgram &tiny = routing.tiny;
  ValueId xe = tiny.op(OpKind::Call, {routing.x, routing.choice}, routing.dispatch);
  // Without p: operands that are `none` are not in the call.
  routing.combine.operandFactors.pop_back();
  tiny.output("y", tiny.op(OpKind::Call, {xe, routing.choice}, routing.combine));
  EXPECT_THAT(tiny.run().output("y")->data, ElementsAre(2, 20, 200)); // each token went to two experts
}

// The third token's second choice finds no slot.
TEST(Dispatch, GradientOfAScoreIsWhatItsSlotHolds) {
  Routing routing(2);
  TinyProgram &tiny = routing.tiny;
  ValueId xe = tiny.op(OpKind::Call, {routing.x, routing.choice}, routing.dispatch);
  ValueId dy = tiny.input("dy", tiny.tensor({{"B", 1}, {"S", 3}, {"D", 1}}, {2, 3, 4}));
  CallFields scores =
      makeCall(tiny, {"combine_dp",
                      {{"b", "B", 1}, {"s", "S", 3}, {"d", "D", 1}, {"k", "K", 2}, {"e", "E", 2}, {"c", "C", 2}},
                      {{"b", "s", "d"}, {"e", "c", "d"}, {"b", "s", "k"}},
                      {{"b", "s", "k"}}});
  tiny.output("dp", tiny.op(OpKind::Call, {dy, xe, routing.choice}, scores));
  EXPECT_THAT(tiny.run().output("dp")->data, ElementsAre(2, 2, 30, 30, 0, 0));
}

TEST(NewtonSchulz, BringsSingularValuesNearOne) {
  TinyProgram tiny;
  ValueId m = tiny.input("m", tiny.tensor({{"D", 2}, {"F", 2}}, {3, 0, 0, 1}));
  CallFields call = makeCall(tiny, {"newton_schulz", {{"i", "D", 2}, {"j", "F", 2}}, {{"i", "j"}}, {{"i", "j"}}});
  Tensor u = tiny.valueOf(tiny.op(OpKind::Call, {m}, call));
  EXPECT_NEAR(u.data[0], 1, 0.35); // the iteration oscillates around 1 within about 0.3
  EXPECT_NEAR(u.data[3], 1, 0.35);
  EXPECT_NEAR(u.data[1], 0, 1e-12);
}

TEST(Reference, AnOpWithoutOneIsNamed) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"S", 1}}, {1}));
  CallFields call = makeCall(tiny, {"mystery", {{"s", "S", 1}}, {{"s"}}, {{"s"}}});
  ValueId y = tiny.op(OpKind::Call, {x}, call, "y");
  try {
    tiny.valueOf(y);
    FAIL();
  } catch (const InterpFault &fault) {
    EXPECT_THAT(fault.what(), HasSubstr("all.y (call): `mystery` has neither a define block nor a reference"));
  }
}

} // namespace
} // namespace stg::interp
