//===- ShapeRulesTest.cpp - what each rule gives and refuses ------------------===//
#include "stg/Shape/ShapeRules.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

class ShapeRulesTest : public ::testing::Test {
protected:
  IRContext context;
  Body body;

  ShapeRulesTest() {
    for (auto [name, size] : std::initializer_list<std::pair<const char *, int64_t>>{
             {"B", 2}, {"S", 8}, {"T", 16}, {"D", 12}, {"F", 48}, {"V", 100}, {"H", 4}, {"KV", 2}, {"R", 2}, {"Dh", 3}})
      context.dims.symbol(name, size);
    context.dims.symbol("U", std::nullopt);
  }

  NameId n(llvm::StringRef text) { return context.name(text); }
  /// `B`, or `F = 4*D`.
  Dim dim(llvm::StringRef text) {
    auto [name, size] = text.split('=');
    return {n(name.trim()), *context.dims.parse(size.empty() ? name.trim() : size.trim())};
  }
  TensorType type(llvm::StringRef dims, ElementType element = ElementType::BF16) {
    TensorType result{element, {}};
    llvm::SmallVector<llvm::StringRef> parts;
    dims.split(parts, ',', -1, false);
    for (llvm::StringRef part : parts)
      result.dims.push_back(dim(part.trim()));
    return result;
  }
  ShapeResult infer(OpKind kind, OpFields fields, std::vector<TensorType> operands) {
    Op op;
    op.kind = kind;
    op.fields = std::move(fields);
    std::vector<const TensorType *> pointers;
    for (const TensorType &operand : operands)
      pointers.push_back(&operand);
    return inferTypes(op, pointers, body, context);
  }
  /// The result type, or the fault with its words.
  std::string str(const ShapeResult &result) {
    if (result.error)
      return spelling(result.error->fault).str() + ": " + describe(*result.error, context);
    std::string text;
    for (const TensorType &type : result.types)
      text += (text.empty() ? "" : ", ") + toString(type, context);
    return text;
  }
  ShapeResult contract(std::vector<TensorType> operands, llvm::SmallVector<NameId, 2> reduced) {
    return infer(OpKind::Contract, ContractFields{reduced, ElementType::BF16}, std::move(operands));
  }
  ShapeResult map(MapFn fn, std::vector<TensorType> operands) {
    return infer(OpKind::Map, MapFields{fn, ElementType::F32}, std::move(operands));
  }
  ShapeResult view(TensorType operand, std::vector<ViewItem> items, llvm::SmallVector<NameId, 6> order = {}) {
    ViewFields fields;
    fields.items.assign(items.begin(), items.end());
    fields.order = order;
    return infer(OpKind::View, fields, {operand});
  }
};

TEST_F(ShapeRulesTest, ContractionIsTheUnionMinusTheReduced) {
  EXPECT_EQ(str(contract({type("B,S,D"), type("D,F")}, {n("D")})), "bf16[B, S, F]");
  EXPECT_EQ(str(contract({type("B,S,D"), type("B,S,D")}, {n("D"), n("B")})), "bf16[S]");
  EXPECT_EQ(str(contract({type("B,S"), type("S,D"), type("D,F")}, {n("S"), n("D")})), "bf16[B, F]");
  EXPECT_EQ(str(contract({type("B,S"), type("D")}, {})), "bf16[B, S, D]");
  EXPECT_EQ(str(contract({type("B,S,D"), type("D,F")}, {n("V")})),
            "unknown-reduced-dim: reduces V, which no operand has");
  EXPECT_EQ(str(contract({type("B,S,D"), type("D=10,F")}, {n("D")})),
            "sizes-differ: D is D in operand 0 but 10 in operand 1");
  EXPECT_EQ(str(contract({type("B,D"), type("D,F")}, {n("D"), n("D")})),
            "duplicate-dim: D would stand twice in one list");
  // Values decide: 12 is D's value. What is unknown is accepted.
  EXPECT_EQ(str(contract({type("B,S,D"), type("D=12,F")}, {n("D")})), "bf16[B, S, F]");
  EXPECT_EQ(str(contract({type("B,S,D"), type("D=U,F")}, {n("D")})), "bf16[B, S, F]");
}

TEST_F(ShapeRulesTest, ElementWiseResultsAreTheLargestOperand) {
  EXPECT_EQ(str(map(MapFn::Add, {type("D"), type("B,S,D")})), "f32[B, S, D]");
  EXPECT_EQ(str(map(MapFn::Add, {type("S,B"), type("B,S")})), "f32[S, B]");
  EXPECT_EQ(str(map(MapFn::Mul, {type("B,S,D"), type(""), type("S")})), "f32[B, S, D]");
  EXPECT_EQ(str(map(MapFn::Exp, {type("B,S=3")})), "f32[B, S = 3]");
  EXPECT_EQ(str(map(MapFn::Add, {type(""), type("")})), "f32[]");
  EXPECT_EQ(str(map(MapFn::Exp, {type("B"), type("B")})).substr(0, 13), "operand-count");
  EXPECT_EQ(str(map(MapFn::Add, {type("B")})).substr(0, 13), "operand-count");
  EXPECT_EQ(str(map(MapFn::Add, {type("S"), type("S=9")})), "sizes-differ: S is S in operand 0 but 9 in operand 1");
}

TEST_F(ShapeRulesTest, AnOuterProductNamesTheTwoOperands) {
  ShapeResult result = map(MapFn::Add, {type("B,S,H,Dh"), type(""), type("S,V")});
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->fault, ShapeFault::NotContained);
  EXPECT_EQ(result.error->operands, (llvm::SmallVector<unsigned, 2>{0, 2}));
  EXPECT_EQ(describe(*result.error, context),
            "operand 0 and operand 2 have [B, S, H, Dh, V] together, and neither has all of it");
}

TEST_F(ShapeRulesTest, ReductionsNeedTheirDims) {
  auto reduce = [&](TensorType operand, llvm::SmallVector<NameId, 2> reduced) {
    return infer(OpKind::Reduce, ReduceFields{ReduceFn::Max, reduced, ElementType::F32}, {operand});
  };
  EXPECT_EQ(str(reduce(type("B,S,V"), {n("V")})), "f32[B, S]");
  EXPECT_EQ(str(reduce(type("B,S"), {n("S"), n("B")})), "f32[]");
  EXPECT_EQ(str(reduce(type("B,S"), {n("V")})), "unknown-reduced-dim: reduces V, which no operand has");
}

TEST_F(ShapeRulesTest, WhatKeepsTheShape) {
  EXPECT_EQ(str(infer(OpKind::Stop, StopFields(), {type("B,S")})), "bf16[B, S]");
  EXPECT_EQ(str(infer(OpKind::Dropout, DropoutFields{0.1, 0}, {type("B,S")})), "bf16[B, S]");
  EXPECT_EQ(str(infer(OpKind::Masked, MaskedFields{{}, n("S"), n("T")}, {type("B,S,T")})), "bf16[B, S, T]");
  EXPECT_EQ(str(infer(OpKind::Masked, MaskedFields{{}, n("S"), n("T")}, {type("B,S")})),
            "missing-dim: operand 0 has no dim T");
  EXPECT_EQ(str(infer(OpKind::Masked, MaskedFields{{}, n("S"), n("S")}, {type("B,S")})).substr(0, 13), "duplicate-dim");
}

TEST_F(ShapeRulesTest, ViewsRenameSplitMergeAndReorder) {
  EXPECT_EQ(str(view(type("B,S,D"), {{{n("S")}, {dim("T=S")}}})), "bf16[B, T = S, D]");
  EXPECT_EQ(str(view(type("B,H,Dh"), {{{n("H")}, {dim("KV"), dim("R")}, true}})), "bf16[B, KV, R, Dh]");
  // Not adjacent: the merged dim stands where the first named one was.
  EXPECT_EQ(str(view(type("H,S,Dh"), {{{n("H"), n("Dh")}, {dim("D")}}})), "bf16[D, S]");
  EXPECT_EQ(str(view(type("H,S,Dh"), {{{n("Dh"), n("H")}, {dim("D")}}})), "bf16[S, D]");
  EXPECT_EQ(str(view(type("B,S,D"), {}, {n("D"), n("B"), n("S")})), "bf16[D, B, S]");
  // Two renames that swap names.
  EXPECT_EQ(str(view(type("S,T"), {{{n("S")}, {dim("T=S")}}, {{n("T")}, {dim("S=T")}}})), "bf16[T = S, S = T]");
  EXPECT_EQ(str(view(type("B,H"), {{{n("H")}, {dim("KV"), dim("R=3")}}})),
            "view-sizes: H has H positions, the new dims have 3*KV");
  EXPECT_EQ(str(view(type("B,S"), {{{n("S")}, {dim("B=S")}}})), "duplicate-dim: B would stand twice in one list");
  EXPECT_EQ(str(view(type("B,S"), {{{n("V")}, {dim("T=V")}}})), "missing-dim: operand 0 has no dim V");
  EXPECT_EQ(str(view(type("B,S"), {}, {n("B")})), "extra-dim: operand 0 has the dim S, which has no place");
  EXPECT_EQ(str(view(type("B,S"), {}, {n("B"), n("S"), n("B")})).substr(0, 13), "duplicate-dim");
  EXPECT_EQ(str(view(type("B,S"), {}, {n("B"), n("S"), n("V")})).substr(0, 11), "missing-dim");
  EXPECT_EQ(str(view(type("B,S,D"), {{{n("S"), n("S")}, {dim("T=S*S")}}})).substr(0, 13), "duplicate-dim");
}

TEST_F(ShapeRulesTest, ConcatAddsSizes) {
  auto concat = [&](std::vector<TensorType> operands, llvm::StringRef result) {
    return infer(OpKind::Concat, ConcatFields{dim(result), ElementType::BF16}, std::move(operands));
  };
  EXPECT_EQ(str(concat({type("B,S"), type("S=3,B")}, "S=S+3")), "bf16[B, S = S + 3]");
  EXPECT_EQ(str(concat({type("B,S"), type("B,S=3")}, "S=12")), "sizes-differ: S is S + 3 but 12 in the op");
  // One operand has all dims; others are repeated along those that they lack.
  EXPECT_EQ(str(concat({type("B,S"), type("S=3")}, "S=11")), "bf16[B, S = 11]");
  EXPECT_EQ(str(concat({type("S"), type("S,B")}, "S=16")), "bf16[S = 16, B]");
  EXPECT_EQ(str(concat({type("S,V"), type("S,B")}, "S=16")), "missing-dim: operand 0 has no dim B");
  EXPECT_EQ(str(concat({type("B=3,S"), type("B,S")}, "S=16")), "sizes-differ: B is 3 in operand 0 but B in operand 1");
}

TEST_F(ShapeRulesTest, PositionsStayInside) {
  auto at = [&](int64_t index) {
    return infer(OpKind::At, AtFields{n("S"), context.dims.constant(index)}, {type("B,S,D")});
  };
  EXPECT_EQ(str(at(0)), "bf16[B, D]");
  EXPECT_EQ(str(at(7)), "bf16[B, D]");
  EXPECT_EQ(str(at(8)), "out-of-range: positions of S up to 9 leave its size S");
  EXPECT_EQ(str(at(-1)).substr(0, 12), "out-of-range");
  auto slice = [&](llvm::StringRef to, int64_t start) {
    return infer(OpKind::Slice, SliceFields{n("S"), dim(to), context.dims.constant(start)}, {type("B,S,D")});
  };
  EXPECT_EQ(str(slice("Sq=3", 5)), "bf16[B, Sq = 3, D]");
  EXPECT_EQ(str(slice("S=3", 5)), "bf16[B, S = 3, D]");
  EXPECT_EQ(str(slice("Sq=U", 5)), "bf16[B, Sq = U, D]");
  EXPECT_EQ(str(slice("Sq=3", 6)).substr(0, 12), "out-of-range");
  EXPECT_EQ(str(slice("D=3", 0)).substr(0, 13), "duplicate-dim");
}

TEST_F(ShapeRulesTest, GatherReplacesTheIndexedDim) {
  auto gather = [&](TensorType data, TensorType index, llvm::StringRef dim) {
    return infer(OpKind::Gather, GatherFields{n(dim)}, {data, index});
  };
  EXPECT_EQ(str(gather(type("V,D"), type("B,S", ElementType::I32), "V")), "bf16[B, S, D]");
  EXPECT_EQ(str(gather(type("B,S,V"), type("B,S", ElementType::I32), "V")), "bf16[B, S]");
  EXPECT_EQ(str(gather(type("V,D"), type("B,S"), "V")), "index-not-integer: operand 1 is an index and no integer");
  EXPECT_EQ(str(gather(type("V,D"), type("B", ElementType::I32), "S")), "missing-dim: operand 0 has no dim S");
  EXPECT_EQ(str(gather(type("S,D"), type("S", ElementType::I32), "S")).substr(0, 13), "duplicate-dim");
  EXPECT_EQ(str(gather(type("B=5,V"), type("B", ElementType::I32), "V")).substr(0, 12), "sizes-differ");
}

TEST_F(ShapeRulesTest, ScatterMakesTheIndexedDim) {
  auto scatter = [&](TensorType data, TensorType index, llvm::StringRef into, llvm::SmallVector<NameId, 2> replaced) {
    return infer(OpKind::Scatter, ScatterFields{dim(into), replaced, ElementType::F32}, {data, index});
  };
  TensorType ids = type("B,S", ElementType::I32);
  EXPECT_EQ(str(scatter(type("B,S,D"), ids, "V", {n("B"), n("S")})), "f32[V, D]");
  EXPECT_EQ(str(scatter(type("B,S"), ids, "V", {})), "f32[B, S, V]");
  EXPECT_EQ(str(scatter(type(""), ids, "V", {})), "f32[B, S, V]"); // one-hot
  EXPECT_EQ(str(scatter(type("B,S,D"), ids, "D", {})).substr(0, 13), "duplicate-dim");
  EXPECT_EQ(str(scatter(type("B,S,D"), ids, "S=3", {n("S")})), "f32[B, S = 3, D]");
  EXPECT_EQ(str(scatter(type("B,S"), ids, "V", {n("D")})).substr(0, 11), "missing-dim");
  EXPECT_EQ(str(scatter(type("B,S"), type("B,S"), "V", {})).substr(0, 17), "index-not-integer");
}

TEST_F(ShapeRulesTest, StatesKeepTheirType) {
  body.states.push_back({n("kc"), type("B,T,KV,Dh"), true, {}});
  auto append = [&](TensorType addition) {
    return infer(OpKind::Append, AppendFields{n("S"), n("T")}, {type("B,T,KV,Dh"), addition});
  };
  EXPECT_EQ(str(infer(OpKind::State, SlotFields{0}, {})), "bf16[B, T, KV, Dh]");
  EXPECT_EQ(str(append(type("B,S,KV,Dh"))), "bf16[B, T, KV, Dh]");
  EXPECT_EQ(str(append(type("KV,S,B,Dh"))), "bf16[B, T, KV, Dh]");
  EXPECT_EQ(str(append(type("B,S=17,KV,Dh"))).substr(0, 12), "out-of-range");
  EXPECT_EQ(str(append(type("B,S,KV"))), "missing-dim: operand 1 has no dim Dh");
  EXPECT_EQ(str(append(type("B,S,KV,Dh,D"))).substr(0, 9), "extra-dim");
  EXPECT_EQ(str(infer(OpKind::Update, SlotFields{0}, {type("T,B,KV,Dh")})), "");
  EXPECT_EQ(str(infer(OpKind::Update, SlotFields{0}, {type("T,B,KV")})), "missing-dim: operand 0 has no dim Dh");
  EXPECT_EQ(str(infer(OpKind::Update, SlotFields{0}, {type("T=4,B,KV,Dh")})),
            "sizes-differ: T is 4 in operand 0 but T in the op");
  EXPECT_EQ(str(infer(OpKind::Update, SlotFields{1}, {type("B")})).substr(0, 15), "fields-mismatch");
}

TEST_F(ShapeRulesTest, CallsDeclareTheirResults) {
  CallFields call;
  call.factors = {{n("b"), dim("B")}, {n("s"), dim("S")}, {n("t"), dim("T")}, {n("c"), dim("Dh")}};
  call.operandFactors = {{0, 1, 3}, {0, 2, 3}};
  call.resultFactors = {{0, 1, 3}, {0, 1}};
  call.resultElements = {ElementType::BF16, ElementType::F32};
  auto infer2 = [&](TensorType q, TensorType k) { return infer(OpKind::Call, call, {q, k}); };
  EXPECT_EQ(str(infer2(type("B,S,Dh"), type("B,T,Dh"))), "bf16[B, S, Dh], f32[B, S]");
  EXPECT_EQ(str(infer2(type("B,S,Dh"), type("B,T"))), "missing-dim: operand 1 has no dim Dh");
  EXPECT_EQ(str(infer2(type("B,S,Dh"), type("B,T,Dh,D"))).substr(0, 9), "extra-dim");
  EXPECT_EQ(str(infer2(type("S,B,Dh"), type("B,T,Dh"))).substr(0, 9), "extra-dim");
  EXPECT_EQ(str(infer2(type("B,S,Dh"), type("B,T=3,Dh"))), "sizes-differ: T is 3 in operand 1 but T in the op");
  EXPECT_EQ(str(infer(OpKind::Call, call, {type("B")})).substr(0, 13), "operand-count");
  call.resultFactors[0] = {0, 0};
  EXPECT_EQ(str(infer2(type("B,S,Dh"), type("B,T,Dh"))).substr(0, 13), "duplicate-dim");
  call.resultFactors[0] = {9};
  EXPECT_EQ(str(infer2(type("B,S,Dh"), type("B,T,Dh"))).substr(0, 15), "fields-mismatch");
}

TEST_F(ShapeRulesTest, LeavesDeclareThemselves) {
  body.inputs.push_back({n("x"), type("B,S")});
  body.weights.push_back({n("w"), type("D,F"), true, {}});
  EXPECT_EQ(str(infer(OpKind::Input, SlotFields{0}, {})), "bf16[B, S]");
  EXPECT_EQ(str(infer(OpKind::Weight, SlotFields{0}, {})), "bf16[D, F]");
  EXPECT_EQ(str(infer(OpKind::Constant, ConstantFields{0.5, {}, ElementType::F32}, {})), "f32[]");
  EXPECT_EQ(str(infer(OpKind::Iota, IotaFields{dim("S"), context.dims.constant(int64_t(0)), ElementType::I32}, {})),
            "i32[S]");
  EXPECT_EQ(str(infer(OpKind::Input, SlotFields{1}, {})).substr(0, 15), "fields-mismatch");
  EXPECT_EQ(str(infer(OpKind::Contract, MapFields(), {type("B")})).substr(0, 15), "fields-mismatch");
}

} // namespace
