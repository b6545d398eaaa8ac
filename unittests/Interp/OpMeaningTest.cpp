//===- OpMeaningTest.cpp - every op kind against numbers worked out by hand ===//
#include "TinyProgram.h"
#include "stg/Interp/OpMeanings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

namespace stg::interp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
constexpr double kInf = std::numeric_limits<double>::infinity();

void expectTensor(TinyProgram &tiny, const Tensor &actual, NamedSizes dims, const std::vector<double> &data) {
  EXPECT_EQ(actual.dims, tiny.tensor(dims, {}).dims);
  EXPECT_THAT(actual.data, Pointwise(testing::DoubleNear(1e-12), data));
}

void checkInput() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}}, {3, 4}));
  expectTensor(tiny, tiny.valueOf(x), {{"B", 2}}, {3, 4});
}

void checkWeight() {
  TinyProgram tiny;
  tiny.inputs.given["all.w"] = tiny.tensor({{"F", 2}, {"D", 2}}, {1, 2, 3, 4});
  ValueId w = tiny.weight("w", tiny.type({{"D", 2}, {"F", 2}}));
  // Given in another storage order: aligned by name.
  expectTensor(tiny, tiny.valueOf(w), {{"D", 2}, {"F", 2}}, {1, 3, 2, 4});
}

void checkState() {
  TinyProgram tiny;
  ValueId s = tiny.state("m", tiny.type({{"D", 2}}));
  expectTensor(tiny, tiny.valueOf(s), {{"D", 2}}, {0, 0});
}

void checkConstant() {
  TinyProgram tiny;
  ValueId c = tiny.op(OpKind::Constant, {}, ConstantFields{.value = tiny.size(3) / tiny.size(2)});
  expectTensor(tiny, tiny.valueOf(c), {}, {1.5});
}

void checkIota() {
  TinyProgram tiny;
  ValueId i = tiny.op(OpKind::Iota, {}, IotaFields{tiny.dim({"S", 3}), tiny.size(5), ElementType::I32});
  expectTensor(tiny, tiny.valueOf(i), {{"S", 3}}, {5, 6, 7});
}

void checkContract() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"D", 2}}, {1, 2, 3, 4}));
  ValueId w = tiny.input("w", tiny.tensor({{"D", 2}, {"F", 3}}, {1, 0, 2, 0, 1, 3}));
  // Row 0: 1*[1 0 2] + 2*[0 1 3]; row 1: 3*[1 0 2] + 4*[0 1 3].
  expectTensor(tiny, tiny.valueOf(tiny.contract({x, w}, {"D"})), {{"B", 2}, {"F", 3}}, {1, 2, 8, 3, 4, 18});
}

void checkMap() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"D", 2}}, {1, 2, 3, 4}));
  ValueId b = tiny.input("b", tiny.tensor({{"D", 2}}, {10, 20}));
  ValueId c = tiny.input("c", tiny.tensor({{"B", 2}}, {100, 200}));
  // The operand with all dims need not come first, and alignment is by name.
  expectTensor(tiny, tiny.valueOf(tiny.map(MapFn::Add, {b, c, x})), {{"B", 2}, {"D", 2}}, {111, 122, 213, 224});
}

void checkReduce() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"D", 3}}, {1, -2, 4, -3, 5, 2}));
  tiny.output("sum", tiny.reduce(ReduceFn::Sum, x, {"D"}));
  tiny.output("max", tiny.reduce(ReduceFn::Max, x, {"B"}));
  tiny.output("min", tiny.reduce(ReduceFn::Min, x, {"B", "D"}));
  tiny.output("prod", tiny.reduce(ReduceFn::Prod, x, {"D"}));
  InterpResult result = tiny.run();
  expectTensor(tiny, *result.output("sum"), {{"B", 2}}, {3, 4});
  expectTensor(tiny, *result.output("max"), {{"D", 3}}, {1, 5, 4});
  expectTensor(tiny, *result.output("min"), {}, {-3});
  expectTensor(tiny, *result.output("prod"), {{"B", 2}}, {-8, -30});
}

void checkStop() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}}, {3, 4}));
  expectTensor(tiny, tiny.valueOf(tiny.op(OpKind::Stop, {x}, StopFields{})), {{"B", 2}}, {3, 4});
}

void checkDropout() {
  TinyProgram tiny;
  constexpr int64_t kCount = 20000;
  ValueId x = tiny.input("x", tiny.tensor({{"B", kCount}}, std::vector<double>(kCount, 1)));
  tiny.output("first", tiny.op(OpKind::Dropout, {x}, DropoutFields{0.25, 0}));
  tiny.output("second", tiny.op(OpKind::Dropout, {x}, DropoutFields{0.25, 1}));
  InterpResult result = tiny.run();
  int64_t kept = 0, keptByBoth = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    double a = result.output("first")->data[i], b = result.output("second")->data[i];
    EXPECT_TRUE(a == 0 || a == 1 / 0.75);
    kept += a != 0;
    keptByBoth += a != 0 && b != 0;
  }
  // Five standard deviations of a binomial distribution; two streams are independent.
  EXPECT_NEAR(kept, 0.75 * kCount, 5 * std::sqrt(kCount * 0.75 * 0.25));
  EXPECT_NEAR(keptByBoth, 0.5625 * kCount, 5 * std::sqrt(kCount * 0.5625 * 0.4375));
}

void checkMasked() {
  TinyProgram tiny;
  Tensor ones = tiny.tensor({{"T", 3}, {"S", 2}}, std::vector<double>(6, 1));
  ValueId x = tiny.input("x", ones);
  auto masked = [&](MaskKind kind, std::initializer_list<int64_t> parameters) {
    MaskValue mask{kind, {}};
    for (int64_t parameter : parameters)
      mask.parameters.push_back(tiny.size(parameter));
    return tiny.op(OpKind::Masked, {x}, MaskedFields{mask, tiny.name("S"), tiny.name("T")});
  };
  tiny.output("causal", masked(MaskKind::Causal, {}));
  tiny.output("window", masked(MaskKind::Window, {2}));
  tiny.output("full", masked(MaskKind::Full, {}));
  tiny.output("requests", masked(MaskKind::Requests, {1, 0, 1, 1}));
  InterpResult result = tiny.run();
  // Two queries stand at positions 1 and 2 of three keys; keys are the rows here.
  expectTensor(tiny, *result.output("causal"), {{"T", 3}, {"S", 2}}, {1, 1, 1, 1, -kInf, 1});
  expectTensor(tiny, *result.output("window"), {{"T", 3}, {"S", 2}}, {1, -kInf, 1, 1, -kInf, 1});
  expectTensor(tiny, *result.output("full"), {{"T", 3}, {"S", 2}}, {1, 1, 1, 1, 1, 1});
  // Request 0 is key 0, query 0; request 1 has one past key, 1, and its query at key 2.
  expectTensor(tiny, *result.output("requests"), {{"T", 3}, {"S", 2}}, {1, -kInf, -kInf, 1, -kInf, 1});
}

void checkView() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"H", 6}}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  ViewItem split{tiny.names({"H"}), {tiny.dim({"KV", 2}), tiny.dim({"R", 3})}, true};
  ValueId heads = tiny.op(OpKind::View, {x}, ViewFields{{split}, {}});
  tiny.output("split", heads);
  // (R, B) merge although KV stands between them: R major.
  ViewItem merge{tiny.names({"R", "B"}), {tiny.dim({"M", 6})}, false};
  tiny.output("merge", tiny.op(OpKind::View, {heads}, ViewFields{{merge}, {}}));
  ViewFields transpose;
  for (const char *dim : {"R", "B", "KV"})
    transpose.order.push_back(tiny.name(dim));
  tiny.output("transpose", tiny.op(OpKind::View, {heads}, transpose));
  // Two items at once swap names.
  ViewItem one{tiny.names({"B"}), {tiny.dim({"KV", 2})}, false}, other{tiny.names({"KV"}), {tiny.dim({"B", 2})}, false};
  tiny.output("swap", tiny.op(OpKind::View, {heads}, ViewFields{{one, other}, {}}));
  InterpResult result = tiny.run();
  expectTensor(tiny, *result.output("split"), {{"B", 2}, {"KV", 2}, {"R", 3}}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  // Element [KV = k, M = 2 r + b] is x[b, 3 k + r].
  expectTensor(tiny, *result.output("merge"), {{"KV", 2}, {"M", 6}}, {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
  expectTensor(tiny, *result.output("transpose"), {{"R", 3}, {"B", 2}, {"KV", 2}},
               {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  expectTensor(tiny, *result.output("swap"), {{"KV", 2}, {"B", 2}, {"R", 3}}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

void checkConcat() {
  TinyProgram tiny;
  ValueId a = tiny.input("a", tiny.tensor({{"B", 2}, {"C", 2}}, {1, 2, 3, 4}));
  ValueId b = tiny.input("b", tiny.tensor({{"C", 1}, {"B", 2}}, {5, 6}));
  ValueId c = tiny.input("c", tiny.tensor({{"C", 1}}, {7})); // the same for every B
  ValueId all = tiny.op(OpKind::Concat, {a, b, c}, ConcatFields{tiny.dim({"C", 4}), ElementType::F32});
  expectTensor(tiny, tiny.valueOf(all), {{"B", 2}, {"C", 4}}, {1, 2, 5, 7, 3, 4, 6, 7});
}

void checkAt() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"S", 3}, {"D", 2}}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  expectTensor(tiny, tiny.valueOf(tiny.op(OpKind::At, {x}, AtFields{tiny.name("S"), tiny.size(1)})),
               {{"B", 2}, {"D", 2}}, {2, 3, 8, 9});
}

void checkSlice() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"S", 4}}, {0, 1, 2, 3, 4, 5, 6, 7}));
  ValueId part = tiny.op(OpKind::Slice, {x}, SliceFields{tiny.name("S"), tiny.dim({"Sq", 2}), tiny.size(1)});
  expectTensor(tiny, tiny.valueOf(part), {{"B", 2}, {"Sq", 2}}, {1, 2, 5, 6});
}

void checkGather() {
  TinyProgram tiny;
  ValueId table = tiny.input("table", tiny.tensor({{"V", 3}, {"D", 2}}, {0, 1, 10, 11, 20, 21}));
  ValueId ids = tiny.input("ids", tiny.tensor({{"B", 2}, {"S", 2}}, {2, 0, 1, 1}, ElementType::I32));
  tiny.output("lookup", tiny.op(OpKind::Gather, {table, ids}, GatherFields{tiny.name("V")}));
  // B is in both: each row picks in its own row.
  ValueId scores = tiny.input("scores", tiny.tensor({{"B", 2}, {"V", 3}}, {1, 2, 3, 4, 5, 6}));
  ValueId target = tiny.input("target", tiny.tensor({{"B", 2}}, {2, 0}, ElementType::I32));
  tiny.output("pick", tiny.op(OpKind::Gather, {scores, target}, GatherFields{tiny.name("V")}));
  InterpResult result = tiny.run();
  expectTensor(tiny, *result.output("lookup"), {{"B", 2}, {"S", 2}, {"D", 2}}, {20, 21, 0, 1, 10, 11, 10, 11});
  expectTensor(tiny, *result.output("pick"), {{"B", 2}}, {3, 4});
}

void checkScatter() {
  TinyProgram tiny;
  ValueId dy = tiny.input("dy", tiny.tensor({{"S", 3}, {"D", 2}}, {1, 2, 3, 4, 5, 6}));
  ValueId ids = tiny.input("ids", tiny.tensor({{"S", 3}}, {2, 0, 2}, ElementType::I32));
  auto fields = [&](std::initializer_list<const char *> replaced) {
    return ScatterFields{tiny.dim({"V", 4}), tiny.names(replaced), ElementType::F32};
  };
  tiny.output("added", tiny.op(OpKind::Scatter, {dy, ids}, fields({"S"})));
  tiny.output("onehot", tiny.op(OpKind::Scatter, {tiny.constant(1), ids}, fields({})));
  InterpResult result = tiny.run();
  expectTensor(tiny, *result.output("added"), {{"V", 4}, {"D", 2}}, {3, 4, 0, 0, 6, 8, 0, 0});
  expectTensor(tiny, *result.output("onehot"), {{"S", 3}, {"V", 4}}, {0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0});
}

void checkAppend() {
  TinyProgram tiny;
  // A decode step: two past positions, one new.
  ValueId cache = tiny.state("kc", tiny.type({{"B", 2}, {"T", 3}, {"C", 1}}));
  tiny.inputs.given["all.kc"] = tiny.tensor({{"B", 2}, {"T", 3}, {"C", 1}}, {1, 2, 0, 3, 4, 0});
  ValueId k = tiny.input("k", tiny.tensor({{"B", 2}, {"S", 1}, {"C", 1}}, {8, 9}));
  ValueId all = tiny.op(OpKind::Append, {cache, k}, AppendFields{tiny.name("S"), tiny.name("T")});
  tiny.output("result", all);
  InterpResult result = tiny.run();
  expectTensor(tiny, *result.output("result"), {{"B", 2}, {"T", 3}, {"C", 1}}, {1, 2, 8, 3, 4, 9});
  ASSERT_TRUE(result.state("all.kc"));
  expectTensor(tiny, *result.state("all.kc"), {{"B", 2}, {"T", 3}, {"C", 1}}, {1, 2, 8, 3, 4, 9});
}

void checkUpdate() {
  TinyProgram tiny;
  ValueId m = tiny.state("m", tiny.type({{"D", 2}}));
  ValueId g = tiny.input("g", tiny.tensor({{"D", 2}}, {1, 2}));
  tiny.inputs.given["all.m"] = tiny.tensor({{"D", 2}}, {10, 20});
  ValueId next = tiny.map(MapFn::Add, {m, g});
  tiny.op(OpKind::Update, {next}, SlotFields{0}, "", 0);
  // Read after the write: what the state held before this step.
  ValueId again = tiny.op(OpKind::State, {}, SlotFields{0});
  tiny.output("result", again);
  InterpResult result = tiny.run();
  expectTensor(tiny, *result.output("result"), {{"D", 2}}, {10, 20});
  expectTensor(tiny, *result.state("all.m"), {{"D", 2}}, {11, 22});
}

void checkPad() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"S", 2}, {"D", 2}}, {1, 2, 3, 4}));
  ValueId y = tiny.op(OpKind::Pad, {x}, PadFields{tiny.name("S"), tiny.dim({"T", 4}), tiny.size(1)});
  expectTensor(tiny, tiny.valueOf(y), {{"T", 4}, {"D", 2}}, {0, 0, 1, 2, 3, 4, 0, 0});
}

void checkBroadcast() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"D", 2}}, {1, 2}));
  ValueId y = tiny.op(OpKind::Broadcast, {x}, BroadcastFields{{tiny.dim({"D", 2}), tiny.dim({"B", 2})}});
  expectTensor(tiny, tiny.valueOf(y), {{"D", 2}, {"B", 2}}, {1, 1, 2, 2});
}

/// Two micro-batches whose gradient is 1 and 2; the step adds their sum and the count of tallies to the weight.
void checkStepOps() {
  TinyProgram tiny;
  tiny.program.plan.microBatches = 2;
  tiny.program.scalars = {tiny.name("count")};
  ValueId w = tiny.weight("w", tiny.type({{"D", 2}}));
  tiny.inputs.given["all.w"] = tiny.tensor({{"D", 2}}, {10, 20});
  ValueId x = tiny.input("x", tiny.type({{"D", 2}}));
  for (double gradient : {1.0, 2.0})
    tiny.inputs.givenTo.emplace_back()["x"] = tiny.tensor({{"D", 2}}, {gradient, 3 * gradient});
  auto effect = [&](OpKind kind, ValueId operand, Part part) {
    tiny.op(kind, {operand}, SlotFields{0}, "", 0);
    tiny.body().ops.back().part = part;
  };
  auto step = [&](ValueId value) {
    tiny.body().ops.back().part = Part::Step;
    return value;
  };
  effect(OpKind::Accumulate, x, Part::WeightGrad);
  effect(OpKind::Tally, tiny.constant(1), Part::Forward);
  ValueId gradient = step(tiny.op(OpKind::Gradient, {}, SlotFields{0}));
  ValueId count = step(tiny.op(OpKind::Total, {}, SlotFields{0}));
  effect(OpKind::Assign, step(tiny.map(MapFn::Add, {w, gradient, count})), Part::Step);
  InterpResult result = tiny.run();
  ASSERT_TRUE(result.gradient("all.w") && result.weight("all.w"));
  expectTensor(tiny, *result.gradient("all.w"), {{"D", 2}}, {3, 9});
  expectTensor(tiny, *result.weight("all.w"), {{"D", 2}}, {10 + 3 + 2, 20 + 9 + 2});
}

/// All layout ops on two ranks: what they hold together is what they had.
void checkLayoutOps() {
  TinyProgram tiny;
  tiny.program.level = Level::Laid;
  tiny.program.mesh.axes = {{"a", 2}};
  TensorType matrix = tiny.type({{"S", 2}, {"T", 2}}), row = tiny.type({{"T", 2}});
  auto split = [&](const char *dim) {
    Layout layout(1);
    layout.places[0] = Place::split(tiny.name(dim));
    return layout;
  };
  Layout whole(1), partial(1);
  partial.places[0] = Place::partial();
  auto laid = [&](ValueId value, const TensorType &type, const Layout &layout) {
    tiny.body().values[value.index].type = type;
    tiny.body().values[value.index].layout = layout;
    return value;
  };
  auto move = [&](OpKind kind, ValueId from, const char *cut, const char *made, const char *name,
                  const TensorType &type, const Layout &layout) {
    CollectiveFields fields;
    fields.atoms = {0};
    if (*cut)
      fields.from = tiny.name(cut);
    if (*made)
      fields.to = tiny.name(made);
    laid(tiny.op(kind, {from}, fields, name), type, layout);
  };
  ValueId x = laid(tiny.input("x", tiny.tensor({{"S", 2}, {"T", 2}}, {1, 2, 3, 4})), matrix, split("S"));
  tiny.body().inputs[0].layout = split("S");
  ValueId sum = laid(tiny.reduce(ReduceFn::Sum, x, {"S"}), row, partial);
  move(OpKind::AllGather, x, "S", "", "gathered", matrix, whole);
  move(OpKind::AllToAll, x, "S", "T", "exchanged", matrix, split("T"));
  move(OpKind::ReduceScatter, sum, "", "T", "scattered", row, split("T"));
  move(OpKind::AllReduce, sum, "", "", "reduced", row, whole);
  ValueId reduced(static_cast<uint32_t>(tiny.body().values.size() - 1));
  move(OpKind::Shard, reduced, "", "T", "sharded", row, split("T"));
  move(OpKind::Demote, reduced, "", "", "demoted", row, partial);
  laid(tiny.op(OpKind::Convert, {x}, ConvertFields{split("T"), {}}, "converted"), matrix, split("T"));
  tiny.body().name = tiny.name("all");
  InputId input = tiny.programInput("x", matrix);
  tiny.unit(BodyId(0), "all", -1, {InputBinding(input)});
  InterpResult result = interpret(tiny.program, tiny.inputs, KeepValues::All, Machine::Ranks);
  for (const char *name : {"all.gathered", "all.exchanged", "all.converted"})
    expectTensor(tiny, *result.unitValue(name), {{"S", 2}, {"T", 2}}, {1, 2, 3, 4});
  for (const char *name : {"all.scattered", "all.reduced", "all.sharded", "all.demoted"})
    expectTensor(tiny, *result.unitValue(name), {{"T", 2}}, {4, 6});
}

void checkHostOps() {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"S", 2}}, {1, 2}));
  ValueId stored = tiny.op(OpKind::Store, {x}, HostFields());
  expectTensor(tiny, tiny.valueOf(tiny.op(OpKind::Load, {stored}, HostFields())), {{"S", 2}}, {1, 2});
}

/// What is on the host is only loaded, and nothing else is.
void expectHostFault(OpKind kind, bool isStored, const std::string &message) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"S", 2}}, {1, 2}));
  ValueId stored = tiny.op(OpKind::Store, {x}, HostFields());
  ValueId result = tiny.op(kind, {isStored ? stored : x}, defaultFields(kind));
  try {
    tiny.valueOf(result);
    ADD_FAILURE() << mnemonic(kind).str() << " of what is " << (isStored ? "on the host" : "on the device");
  } catch (const InterpFault &fault) {
    EXPECT_NE(std::string(fault.what()).find(message), std::string::npos) << fault.what();
  }
}

TEST(HostMemory, IsReadByLoadsOnly) {
  expectHostFault(OpKind::Load, false, "reads from the host what was not stored there");
  expectHostFault(OpKind::Stop, true, "reads what is on the host");
  expectHostFault(OpKind::Store, true, "reads what is on the host");
}

void checkCall() {
  // scaled(x[a, b], w[b]) -> y[b, a] on dims P, Q. Its define block, y = x * w, has the caller's dims.
  TinyProgram tiny;
  BodyId define = tiny.beginBody("scaled");
  ValueId x = tiny.input("x", tiny.type({{"P", 2}, {"Q", 2}})), w = tiny.input("w", tiny.type({{"Q", 2}}));
  ViewFields transpose;
  transpose.order = {tiny.name("Q"), tiny.name("P")};
  tiny.output("y", tiny.op(OpKind::View, {tiny.map(MapFn::Mul, {x, w})}, transpose));
  tiny.beginBody("caller");
  ValueId p = tiny.input("p", tiny.tensor({{"Q", 2}, {"P", 2}}, {1, 2, 3, 4}));
  ValueId q = tiny.input("q", tiny.tensor({{"Q", 2}}, {10, 100}));
  CallFields call;
  call.callee = tiny.name("scaled");
  call.factors = {{tiny.name("a"), tiny.dim({"P", 2}), FactorKind::Map, {}, {}},
                  {tiny.name("b"), tiny.dim({"Q", 2}), FactorKind::Map, {}, {}}};
  call.operandFactors = {{0, 1}, {1}};
  call.resultFactors = {{1, 0}};
  call.resultElements = {ElementType::F32};
  call.define = define;
  expectTensor(tiny, tiny.valueOf(tiny.op(OpKind::Call, {p, q}, call)), {{"Q", 2}, {"P", 2}}, {10, 20, 300, 400});
}

const std::map<OpKind, void (*)()> kChecks = {
    {OpKind::Input, checkInput},
    {OpKind::Weight, checkWeight},
    {OpKind::State, checkState},
    {OpKind::Constant, checkConstant},
    {OpKind::Iota, checkIota},
    {OpKind::Contract, checkContract},
    {OpKind::Map, checkMap},
    {OpKind::Reduce, checkReduce},
    {OpKind::Stop, checkStop},
    {OpKind::Dropout, checkDropout},
    {OpKind::Masked, checkMasked},
    {OpKind::View, checkView},
    {OpKind::Concat, checkConcat},
    {OpKind::At, checkAt},
    {OpKind::Slice, checkSlice},
    {OpKind::Gather, checkGather},
    {OpKind::Scatter, checkScatter},
    {OpKind::Append, checkAppend},
    {OpKind::Update, checkUpdate},
    {OpKind::Call, checkCall},
    {OpKind::Pad, checkPad},
    {OpKind::Broadcast, checkBroadcast},
    {OpKind::Accumulate, checkStepOps},
    {OpKind::Gradient, checkStepOps},
    {OpKind::Assign, checkStepOps},
    {OpKind::Tally, checkStepOps},
    {OpKind::Total, checkStepOps},
    {OpKind::Convert, checkLayoutOps},
    {OpKind::Shard, checkLayoutOps},
    {OpKind::Demote, checkLayoutOps},
    {OpKind::ReduceScatter, checkLayoutOps},
    {OpKind::AllReduce, checkLayoutOps},
    {OpKind::AllToAll, checkLayoutOps},
    {OpKind::AllGather, checkLayoutOps},
    {OpKind::Store, checkHostOps},
    {OpKind::Load, checkHostOps},
};

class EveryOpKind : public testing::TestWithParam<OpKind> {};
TEST_P(EveryOpKind, MeansWhatItsRowSays) {
  auto check = kChecks.find(GetParam());
  ASSERT_NE(check, kChecks.end()) << "no numbers for `" << mnemonic(GetParam()).str()
                                  << "`: " << meaning(GetParam()).str();
  check->second();
}
constexpr OpKind kAllKinds[] = {
#define OP(kind, ...) OpKind::kind,
#include "stg/IR/Ops.def"
};
INSTANTIATE_TEST_SUITE_P(OpsDef, EveryOpKind, testing::ValuesIn(kAllKinds),
                         [](const auto &info) { return mnemonic(info.param).str(); });

struct FnCase {
  std::vector<double> operands;
  double expected;
};
/// Values from tables: gelu(1) = Phi(1), softplus(0) = ln 2, ...
const std::map<MapFn, std::vector<FnCase>> kFunctions = {
    {MapFn::Add, {{{1, 2, 4}, 7}}},
    {MapFn::Sub, {{{5, 7}, -2}}},
    {MapFn::Mul, {{{2, -3, 4}, -24}}},
    {MapFn::Div, {{{1, 8}, 0.125}}},
    {MapFn::Neg, {{{3}, -3}}},
    {MapFn::Abs, {{{-3}, 3}, {{3}, 3}}},
    {MapFn::Quantise, {{{3, 4}, 0.75}, {{3, 0}, 0}}},
    {MapFn::Maximum, {{{1, 3, 2}, 3}}},
    {MapFn::Minimum, {{{2, -1, 3}, -1}}},
    {MapFn::Exp, {{{1}, 2.718281828459045}, {{-kInf}, 0}}},
    {MapFn::Log, {{{10}, 2.302585092994046}}},
    {MapFn::Sqrt, {{{2}, 1.4142135623730951}}},
    {MapFn::Rsqrt, {{{4}, 0.5}}},
    {MapFn::Sin, {{{1}, 0.8414709848078965}}},
    {MapFn::Cos, {{{1}, 0.5403023058681398}}},
    {MapFn::Sigmoid, {{{0}, 0.5}, {{1}, 0.7310585786300049}, {{-1000}, 0}}},
    {MapFn::Softplus, {{{0}, 0.6931471805599453}, {{1000}, 1000}, {{-2}, 0.1269280110429726}}},
    {MapFn::Square, {{{-3}, 9}}},
    {MapFn::Tanh, {{{0.5}, 0.46211715726000975}}},
    {MapFn::Relu, {{{-2}, 0}, {{2}, 2}}},
    {MapFn::Silu, {{{1}, 0.7310585786300049}, {{-1}, -0.2689414213699951}}},
    {MapFn::Gelu, {{{1}, 0.8413447460685429}, {{-1}, -0.15865525393145707}, {{0}, 0}}},
    // sigmoid'(0) = 1/4; the others at 1, by hand from sigmoid(1), Phi(1) and the normal density at 1.
    {MapFn::SigmoidGrad, {{{2, 0.5}, 0.5}}},
    {MapFn::TanhGrad, {{{2, 0.5}, 1.5}}},
    {MapFn::SiluGrad, {{{2, 0}, 1}, {{1, 1}, 0.9276705118714867}}},
    {MapFn::GeluGrad, {{{2, 0}, 1}, {{1, 1}, 1.0833154705876864}}},
    {MapFn::WherePositive, {{{3, 1}, 3}, {{3, 0}, 0}, {{3, -1}, 0}}},
    {MapFn::WhereEqual, {{{3, 1, 1}, 3}, {{3, 1, 2}, 0}}},
    {MapFn::Cast, {{{1.75}, 1.75}}},
};

class EveryMapFn : public testing::TestWithParam<MapFn> {};
TEST_P(EveryMapFn, MeansWhatItsRowSays) {
  auto cases = kFunctions.find(GetParam());
  ASSERT_NE(cases, kFunctions.end());
  for (const FnCase &one : cases->second)
    EXPECT_NEAR(valueOf(GetParam(), one.operands), one.expected, 1e-14);
}
constexpr MapFn kAllFunctions[] = {
#define FN(name, ...) MapFn::name,
#include "stg/IR/MapFns.def"
};
INSTANTIATE_TEST_SUITE_P(MapFnsDef, EveryMapFn, testing::ValuesIn(kAllFunctions),
                         [](const auto &info) { return spelling(info.param).str(); });

TEST(OpMeaning, EightBitsHoldTheNearestNumber) {
  auto e4m3 = [](double value) { return nearest(ElementType::F8E4M3, value); };
  auto e5m2 = [](double value) { return nearest(ElementType::F8E5M2, value); };
  // 16, 18, 20 with three digits behind the first, 16, 20, 24 with two; a tie goes to the even one.
  EXPECT_EQ(e4m3(17.5), 18);
  EXPECT_EQ(e4m3(17), 16);
  EXPECT_EQ(e4m3(-19), -20);
  EXPECT_EQ(e5m2(19), 20);
  EXPECT_EQ(e5m2(18), 16);
  EXPECT_EQ(e4m3(15.9), 16);
  // The largest numbers, and the smallest: 2^-9 and 2^-16.
  EXPECT_EQ(e4m3(1000), 448);
  EXPECT_EQ(e5m2(-1e6), -57344);
  EXPECT_EQ(e4m3(0.0017), std::ldexp(1, -9));
  EXPECT_EQ(e4m3(0.0009), 0);
  EXPECT_EQ(e5m2(0.00001), std::ldexp(1, -16));
  EXPECT_EQ(nearest(ElementType::BF16, 17.3), 17.3);
}

TEST(OpMeaning, OnlyQuantiseRounds) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 3}}, {17.5, -1.3, 900}));
  ValueId scale = tiny.input("scale", tiny.tensor({}, {2}));
  tiny.output("copy", tiny.op(OpKind::Map, {x, scale}, MapFields{MapFn::Quantise, ElementType::F8E4M3}));
  tiny.output("ratio", tiny.op(OpKind::Map, {x, scale}, MapFields{MapFn::Div, ElementType::F8E4M3}));
  InterpResult result = tiny.run();
  EXPECT_THAT(result.output("copy")->data, ElementsAre(9, -0.625, 448));
  EXPECT_THAT(result.output("ratio")->data, ElementsAre(8.75, -0.65, 450));
}

TEST(OpMeaning, CastToAnIntegerDropsTheFraction) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 3}}, {1.75, -1.75, 0.2}));
  tiny.output("i32", tiny.op(OpKind::Map, {x}, MapFields{MapFn::Cast, ElementType::I32}));
  tiny.output("bool", tiny.op(OpKind::Map, {x}, MapFields{MapFn::Cast, ElementType::Bool}));
  InterpResult result = tiny.run();
  EXPECT_THAT(result.output("i32")->data, ElementsAre(1, -1, 0));
  EXPECT_THAT(result.output("bool")->data, ElementsAre(1, 1, 1));
}

TEST(OpMeaning, ContractSumsOverDimsOfAnyOperandAndTakesMoreThanTwo) {
  TinyProgram tiny;
  ValueId a = tiny.input("a", tiny.tensor({{"X", 2}}, {1, 2}));
  ValueId b = tiny.input("b", tiny.tensor({{"Y", 2}}, {3, 4}));
  ValueId c = tiny.input("c", tiny.tensor({{"X", 2}, {"Z", 2}}, {5, 6, 7, 8}));
  // (sum of b) * sum over X of a * c.
  expectTensor(tiny, tiny.valueOf(tiny.contract({a, b, c}, {"X", "Y"})), {{"Z", 2}}, {7 * 19, 7 * 22});
}

std::string faultOf(TinyProgram &tiny, ValueId value) {
  try {
    tiny.valueOf(value);
  } catch (const InterpFault &fault) {
    return fault.what();
  }
  return "no fault";
}

TEST(OpMeaning, AnIndexOutOfRangeNamesTheValue) {
  TinyProgram tiny;
  ValueId table = tiny.input("table", tiny.tensor({{"V", 2}}, {1, 2}));
  ValueId ids = tiny.input("ids", tiny.tensor({{"S", 1}}, {2}, ElementType::I32));
  ValueId row = tiny.op(OpKind::Gather, {table, ids}, GatherFields{tiny.name("V")}, "emb.row");
  EXPECT_THAT(faultOf(tiny, row), HasSubstr("all.emb.row (gather): index 2"));
}

TEST(OpMeaning, AStatedTypeThatIsWrongIsAFault) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.tensor({{"B", 2}, {"D", 2}}, {1, 2, 3, 4}));
  ValueId sum = tiny.reduce(ReduceFn::Sum, x, {"D"});
  tiny.body().values[sum.index].type = tiny.type({{"D", 2}});
  EXPECT_THAT(faultOf(tiny, sum), HasSubstr("is [B = 2], but its type says [D = 2]"));
}

TEST(OpMeaning, AnElementwiseOuterProductIsAFault) {
  TinyProgram tiny;
  ValueId a = tiny.input("a", tiny.tensor({{"X", 1}}, {1})), b = tiny.input("b", tiny.tensor({{"Y", 1}}, {1}));
  EXPECT_THAT(faultOf(tiny, tiny.map(MapFn::Add, {a, b})), HasSubstr("no operand has all dims"));
}

TEST(OpMeaning, ASizeWithoutAValueIsAFault) {
  TinyProgram tiny;
  DimExpr unknown = tiny.context().dims.symbol("N", std::nullopt);
  ValueId i = tiny.op(OpKind::Iota, {}, IotaFields{{tiny.name("N"), unknown}, tiny.size(0), ElementType::I32});
  EXPECT_THAT(faultOf(tiny, i), HasSubstr("the size `N` has no value"));
}

} // namespace
} // namespace stg::interp
