//===- InputValuesTest.cpp - made-up numbers and bounds of indices ---------===//
#include "CallBuilder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>

namespace stg::interp {
namespace {

using testing::HasSubstr;

TEST(MadeUp, DependsOnSeedNameAndGlobalIndexOnly) {
  TinyProgram tiny;
  TensorDims dims = tiny.tensor({{"D", 3}, {"F", 4}}, {}).dims;
  Tensor whole = madeUpTensor(ElementType::F32, dims, 3, "blocks[0].w", 1);
  EXPECT_EQ(whole.data[7], madeUp(ElementType::F32, 3, "blocks[0].w", 7, 1));
  EXPECT_NE(whole.data, madeUpTensor(ElementType::F32, dims, 4, "blocks[0].w", 1).data);
  EXPECT_NE(whole.data, madeUpTensor(ElementType::F32, dims, 3, "blocks[1].w", 1).data);
  // Fixed for good: traces of sharded runs are compared across versions.
  EXPECT_NEAR(madeUp(ElementType::F32, 0, "w", 0, 1), -0.4505010626528787, 1e-15);
}

TEST(MadeUp, SpreadsOverItsRange) {
  double sum = 0, squares = 0;
  int counts[5] = {};
  constexpr int kCount = 10000;
  for (int i = 0; i < kCount; ++i) {
    double x = madeUp(ElementType::BF16, 1, "x", i, 1);
    EXPECT_GE(x, -1);
    EXPECT_LT(x, 1);
    sum += x;
    squares += x * x;
    ++counts[static_cast<int>(madeUp(ElementType::I32, 1, "ids", i, 5))];
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.02);
  for (int count : counts)
    EXPECT_NEAR(count, kCount / 5, 250);
}

TEST(IndexBound, FollowsViewsUnitsAndDefineBlocksToTheSmallestIndexedDim) {
  TinyProgram tiny;
  TensorType idsType = tiny.type({{"B", 2}, {"S", 100}}, ElementType::I32);
  // A define block that reads rows of a table of 5: lookup5(ids[s], table[v]).
  BodyId define = tiny.beginBody("lookup5");
  ValueId inner = tiny.input("ids", tiny.type({{"B", 2}, {"P", 100}}, ElementType::I32));
  ValueId table = tiny.input("table", tiny.type({{"V", 5}}));
  tiny.output("y", tiny.op(OpKind::Gather, {table, inner}, GatherFields{tiny.name("V")}));

  BodyId passing = tiny.beginBody("passing");
  ValueId ids = tiny.input("ids", idsType);
  ViewItem rename{tiny.names({"S"}), {tiny.dim({"P", 100})}, false};
  tiny.output("ids", tiny.op(OpKind::View, {ids}, ViewFields{{rename}, {}}));

  BodyId reading = tiny.beginBody("reading");
  ValueId read = tiny.input("ids", tiny.type({{"B", 2}, {"P", 100}}, ElementType::I32));
  ValueId wide = tiny.weight("wide", tiny.type({{"V", 50}}));
  tiny.output("wide", tiny.op(OpKind::Gather, {wide, read}, GatherFields{tiny.name("V")}));
  ValueId narrow = tiny.weight("narrow", tiny.type({{"V", 5}}));
  CallFields call =
      makeCall(tiny, {"lookup5", {{"b", "B", 2}, {"s", "P", 100}, {"v", "V", 5}}, {{"b", "s"}, {"v"}}, {{"b", "s"}}});
  call.define = define;
  tiny.output("narrow", tiny.op(OpKind::Call, {read, narrow}, call));

  InputId input = tiny.programInput("ids", idsType);
  UnitId first = tiny.unit(passing, "first", -1, {input});
  UnitId second = tiny.unit(reading, "second", -1, {UnitValue{first, 0}});
  tiny.programOutput("narrow", second, 1);
  EXPECT_EQ(indexBound(tiny.program, input), 5);
  InterpResult result = interpret(tiny.program, tiny.inputs, KeepValues::All);
  EXPECT_NE(std::count(result.output("narrow")->data.begin(), result.output("narrow")->data.end(),
                       madeUp(ElementType::F32, 0, "second.narrow", 4, 1)),
            0); // the largest index occurs
}

TEST(IndexBound, KnowsTheIndexOperandsOfReferences) {
  TinyProgram tiny;
  ValueId choice = tiny.input("choice", tiny.type({{"B", 1}, {"S", 50}, {"K", 1}}, ElementType::I32));
  ValueId ye = tiny.input("ye", tiny.type({{"E", 3}, {"C", 50}, {"D", 1}}));
  CallFields call =
      makeCall(tiny, {"combine",
                      {{"b", "B", 1}, {"s", "S", 50}, {"k", "K", 1}, {"e", "E", 3}, {"c", "C", 50}, {"d", "D", 1}},
                      {{"e", "c", "d"}, {"b", "s", "k"}},
                      {{"b", "s", "d"}}});
  tiny.output("y", tiny.op(OpKind::Call, {ye, choice}, call));
  tiny.run(); // out of range would throw
  EXPECT_EQ(indexBound(tiny.program, InputId(0)), 3);
}

TEST(IndexBound, WithoutAUseIsTheSmallestSize) {
  TinyProgram tiny;
  tiny.program.sizes.push_back({tiny.name("V"), tiny.context().dims.symbol("V", 3)});
  tiny.input("ids", tiny.type({{"B", 4}}, ElementType::I32));
  tiny.run();
  EXPECT_EQ(indexBound(tiny.program, InputId(0)), 3);
}

TEST(Given, TheWrongShapeIsAFault) {
  TinyProgram tiny;
  ValueId x = tiny.input("x", tiny.type({{"B", 4}}));
  tiny.inputs.given["x"] = tiny.tensor({{"B", 3}}, {1, 2, 3});
  try {
    tiny.valueOf(x);
    FAIL();
  } catch (const InterpFault &fault) {
    EXPECT_THAT(fault.what(), HasSubstr("`x` is given as [B = 3], but it is [B = 4]"));
  }
}

TEST(SharedSlots, AWeightOfAnotherUnitIsTheSameNumbers) {
  TinyProgram tiny;
  BodyId owner = tiny.beginBody("owner");
  tiny.output("w", tiny.weight("w", tiny.type({{"D", 2}})));
  BodyId borrower = tiny.beginBody("borrower");
  ValueId own = tiny.weight("w", tiny.type({{"D", 2}}));
  ValueId tied = tiny.weight("tied", tiny.type({{"D", 2}}), false);
  tiny.output("own", own);
  tiny.output("tied", tied);
  UnitId first = tiny.unit(owner, "first", -1, {});
  UnitId second = tiny.unit(borrower, "second", -1, {}, {UnitSlot{first, 0}});
  tiny.programOutput("w", first, 0);
  tiny.programOutput("own", second, 0);
  tiny.programOutput("tied", second, 1);
  InterpResult result = interpret(tiny.program, tiny.inputs);
  EXPECT_EQ(result.output("tied")->data, result.output("w")->data);
  EXPECT_NE(result.output("own")->data, result.output("w")->data);
}

TEST(Losses, OfAllUnitsAddUp) {
  TinyProgram tiny;
  tiny.inputs.given["blocks[0].aux"] = tiny.tensor({}, {0.5});
  tiny.inputs.given["blocks[1].aux"] = tiny.tensor({}, {0.25});
  BodyId body = tiny.beginBody("block");
  tiny.body().losses.push_back(tiny.weight("aux", tiny.type({})));
  tiny.unit(body, "blocks", 0, {});
  tiny.unit(body, "blocks", 1, {});
  InterpResult result = interpret(tiny.program, tiny.inputs);
  EXPECT_EQ(result.loss, 0.75);
  ASSERT_EQ(result.losses.size(), 2u);
  EXPECT_EQ(result.losses[1].name, "blocks[1].aux");
}

} // namespace
} // namespace stg::interp
