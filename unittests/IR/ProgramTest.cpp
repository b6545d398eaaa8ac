//===- ProgramTest.cpp - spellings and types as text ------------------------===//
#include "stg/IR/Program.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

TEST(SpellingTest, ReadsBackWhatItPrints) {
  for (int i = 0; i <= static_cast<int>(ElementType::Bool); ++i)
    EXPECT_EQ(elementTypeFrom(spelling(static_cast<ElementType>(i))), static_cast<ElementType>(i));
#define OP(kind, ...) EXPECT_EQ(opKindFrom(mnemonic(OpKind::kind)), OpKind::kind);
#include "stg/IR/Ops.def"
#define FN(name, ...) EXPECT_EQ(mapFnFrom(spelling(MapFn::name)), MapFn::name);
#include "stg/IR/MapFns.def"
  for (Mode mode : {Mode::Forward, Mode::Train, Mode::Prefill, Mode::Decode})
    EXPECT_EQ(modeFrom(spelling(mode)), mode);
  for (int i = 0; i <= static_cast<int>(FactorKind::Carry); ++i)
    EXPECT_EQ(factorKindFrom(spelling(static_cast<FactorKind>(i))), static_cast<FactorKind>(i));
  EXPECT_EQ(levelFrom("typed"), Level::Typed);
  EXPECT_FALSE(mapFnFrom("sine"));
  EXPECT_EQ(arity(MapFn::Add), 0u);
  EXPECT_EQ(flopsPerElement(MapFn::Gelu), 8u);
}

TEST(TensorTypeTest, PrintsSizesThatAreNotTheNamesOwn) {
  IRContext context;
  DimExpr b = context.dims.symbol("B", 2), d = context.dims.symbol("D", 8);
  TensorType type{ElementType::BF16, {{context.name("B"), b}, {context.name("F"), d * 4}, {context.name("D"), d}}};
  EXPECT_EQ(toString(type, context), "bf16[B, F = 4*D, D]");
  EXPECT_EQ(toString(TensorType{}, context), "f32[]");
  EXPECT_EQ(byteCount(type, context.dims).str(), "8*B*D^2");
  EXPECT_EQ(byteCount(type, context.dims).size(), 1024);
  type.element = ElementType::F4E2M1;
  EXPECT_EQ(byteCount(type, context.dims).size(), 256);
}

TEST(ProgramTest, UnitPathsCountTheIterations) {
  Program program(std::make_shared<IRContext>());
  Unit unit;
  unit.path = program.context->name("blocks");
  unit.index = 3;
  EXPECT_EQ(program.unitPath(unit), "blocks[3]");
  unit.index = -1;
  EXPECT_EQ(program.unitPath(unit), "blocks");
}

} // namespace
