//===- DimExprTest.cpp - size arithmetic ------------------------------------===//
#include "stg/IR/DimExpr.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>

using namespace stg;

namespace {

class DimExprTest : public ::testing::Test {
protected:
  DimContext dims;
  DimExpr B = dims.symbol("B", 1024), S = dims.symbol("S", 8192), D = dims.symbol("D", 4096), H = dims.symbol("H", 32);
  DimExpr U = dims.symbol("U", std::nullopt);
  DimExpr c(int64_t value) { return dims.constant(value); }
};

TEST_F(DimExprTest, EqualExpressionsAreOneNode) {
  EXPECT_TRUE((B + S) * (B - S) == B * B - S * S);
  EXPECT_TRUE(D * H / H == D);
  EXPECT_TRUE(B + B == B * 2);
  EXPECT_TRUE(B - B == c(0));
  EXPECT_TRUE(D / H * H == D);
  EXPECT_FALSE(B == S);
  EXPECT_TRUE(dims.symbol("B", 1024) == B);
  EXPECT_FALSE(dims.symbol("B", 512) == B);
}

TEST_F(DimExprTest, PrintsFactorsInTheOrderOfTheirCreation) {
  EXPECT_EQ((H * D * 2 * S * B).str(), "2*B*S*D*H");
  EXPECT_EQ((D / H).str(), "D/H");
  EXPECT_EQ((c(1) / H).str(), "1/H");
  EXPECT_EQ((B * S / c(2)).str(), "B*S/2");
  EXPECT_EQ((D * 3 / c(2) / H).str(), "3*D/2/H");
  EXPECT_EQ((S * S).str(), "S^2");
  EXPECT_EQ((D - S).str(), "D - S");
  EXPECT_EQ((c(0) - S).str(), "-S");
  EXPECT_EQ((c(1) + D * 4 + B * S).str(), "B*S + 4*D + 1");
  EXPECT_EQ(c(0).str(), "0");
  EXPECT_EQ(c(-7).str(), "-7");
  EXPECT_EQ((B / (S + D)).str(), "B/(S + D)");
  EXPECT_EQ(DimExpr().str(), "?");
}

TEST_F(DimExprTest, ValuesAreExact) {
  EXPECT_EQ((D / H).size(), 128);
  EXPECT_EQ((H / D).integer(), std::nullopt);
  EXPECT_EQ((H / D).rational(), (Rational{1, 128}));
  EXPECT_EQ((B * 2 / (S + D)).rational(), (Rational{1, 6}));
  EXPECT_EQ((B * 2 / (S * 2 + D * 2)).str(), "B/(S + D)");
  EXPECT_EQ(U.rational(), std::nullopt);
  EXPECT_EQ((U * 2).size(), std::nullopt);
  EXPECT_EQ((B / c(0)).rational(), std::nullopt);
  EXPECT_TRUE((U - U).isConstant());
  EXPECT_FALSE(B.isConstant());
  EXPECT_TRUE(B.isSymbol("B"));
  EXPECT_FALSE((B * 2).isSymbol("B"));
  EXPECT_FALSE((B * B).isSymbol("B"));
}

TEST_F(DimExprTest, ValuesDecideWhereFormsDiffer) {
  EXPECT_EQ(sameSize(D, H * 128), true);
  EXPECT_EQ(sameSize(D, H * 127), false);
  EXPECT_EQ(sameSize(U, D), std::nullopt);
  EXPECT_EQ(sameSize(U, U), true);
  EXPECT_EQ(sameSize(U, DimExpr()), std::nullopt);
}

TEST_F(DimExprTest, ASumDividesExactlyWhereItCan) {
  EXPECT_TRUE((B * S + B * D) / (S + D) == B);
  EXPECT_TRUE((S * 2 + D * 2) / (S + D) == c(2));
  EXPECT_TRUE(B / (S + D) == B * 3 / (S * 3 + D * 3));
}

TEST_F(DimExprTest, FunctionsFoldAndSimplify) {
  EXPECT_TRUE(dims.apply(DimFn::Ceil, {c(7) / c(2)}) == c(4));
  EXPECT_TRUE(dims.apply(DimFn::Floor, {c(-7) / c(2)}) == c(-4));
  EXPECT_TRUE(dims.apply(DimFn::FloorDiv, {c(7), c(2)}) == c(3));
  EXPECT_TRUE(dims.apply(DimFn::FloorDiv, {c(-7), c(2)}) == c(-4));
  EXPECT_TRUE(dims.apply(DimFn::Mod, {c(-7), c(2)}) == c(1));
  EXPECT_TRUE(dims.apply(DimFn::Min, {c(3), c(2), c(5)}) == c(2));
  EXPECT_TRUE(dims.apply(DimFn::Max, {c(3), c(2), c(5)}) == c(5));
  EXPECT_TRUE(dims.apply(DimFn::Ceil, {B * 2}) == B * 2);
  EXPECT_TRUE(dims.apply(DimFn::FloorDiv, {B * 4, c(2)}) == B * 2);
  EXPECT_TRUE(dims.apply(DimFn::Mod, {B * 4, c(2)}) == c(0));
  EXPECT_TRUE(dims.apply(DimFn::Min, {S, B}) == dims.apply(DimFn::Min, {B, S, B}));
  EXPECT_EQ(dims.apply(DimFn::Min, {S, c(4096)}).str(), "min(S, 4096)");
  EXPECT_EQ(dims.apply(DimFn::Min, {S, c(4096)}).size(), 4096);
  EXPECT_EQ(dims.apply(DimFn::Ceil, {B / c(3)}).str(), "ceil(B/3)");
  EXPECT_EQ(dims.apply(DimFn::Ceil, {B / c(3)}).size(), 342);
  EXPECT_EQ(dims.apply(DimFn::Mod, {B, c(0)}).rational(), std::nullopt);
}

TEST_F(DimExprTest, OverflowIsNoticedNotWrapped) {
  DimExpr big = dims.symbol("Big", std::numeric_limits<int64_t>::max());
  EXPECT_EQ(toString(*(big * big).integer()), "85070591730234615847396907784232501249");
  EXPECT_FALSE((big * big).overflowed());
  EXPECT_EQ((big * big).size(), std::nullopt);
  DimExpr huge = big * big * big;
  EXPECT_TRUE(huge.overflowed());
  EXPECT_EQ(huge.rational(), std::nullopt);
  EXPECT_TRUE((huge + B).overflowed());
  DimExpr constant = c(std::numeric_limits<int64_t>::max());
  EXPECT_TRUE((constant * constant * constant).overflowed());
  EXPECT_TRUE((constant * constant * constant - B).overflowed());
  EXPECT_TRUE((constant * constant * constant * U).overflowed());
  EXPECT_TRUE((huge * U).overflowed());
}

TEST_F(DimExprTest, ManyTermsEndAsOverflow) {
  DimExpr product = c(1);
  for (int i = 0; i < 30; ++i)
    product = product * (dims.symbol("X" + std::to_string(i), 1) + c(1));
  EXPECT_TRUE(product.overflowed());
}

TEST_F(DimExprTest, PairsAreLeaves) {
  DimExpr pairs = dims.pairs(MaskKind::Causal, {}, S, S);
  EXPECT_EQ((B * pairs).str(), "B*pairs(causal, S, S)");
  EXPECT_EQ(pairs.size(), 8192 * 8193 / 2);
  EXPECT_EQ(dims.pairs(MaskKind::Window, {c(4096)}, S, S).str(), "pairs(window(4096), S, S)");
  EXPECT_TRUE(dims.pairs(MaskKind::Causal, {}, c(3), c(3)) == c(6));
  EXPECT_TRUE(dims.pairs(MaskKind::Full, {}, B, S) == B * S);
  EXPECT_EQ(dims.pairs(MaskKind::Causal, {}, U, S).rational(), std::nullopt);
}

TEST_F(DimExprTest, TheOrderOfFunctionsIsThatOfStructure) {
  DimContext other;
  DimExpr x = other.symbol("X", 3), y = other.symbol("Y", 5);
  DimExpr max = other.apply(DimFn::Max, {x, y});
  DimExpr min = other.apply(DimFn::Min, {x, y});
  DimContext reversed;
  DimExpr x2 = reversed.symbol("X", 3), y2 = reversed.symbol("Y", 5);
  DimExpr min2 = reversed.apply(DimFn::Min, {x2, y2});
  DimExpr max2 = reversed.apply(DimFn::Max, {x2, y2});
  EXPECT_EQ((max * min).str(), (max2 * min2).str());
}

TEST_F(DimExprTest, ReadsWhatItPrints) {
  const char *texts[] = {"0",
                         "-7",
                         "2*B*S*D*H",
                         "D/H",
                         "1/H",
                         "3*D/2/H",
                         "S^2",
                         "B*S + 4*D + 1",
                         "T0 - S",
                         "B/(S + D)",
                         "B/(S + D)^2",
                         "ceil(B/3)*floordiv(S, 5) + mod(S, 7)",
                         "min(S, 4096)*max(B, U, 3)",
                         "pairs(causal, S, S)",
                         "pairs(documents(100, 28), 128, U)",
                         "floor(S/3)",
                         "85070591730234615847396907784232501249"};
  dims.symbol("T0", 9000);
  for (const char *text : texts) {
    std::optional<DimExpr> expr = dims.parse(text);
    ASSERT_TRUE(expr) << text;
    std::optional<DimExpr> again = dims.parse(expr->str());
    ASSERT_TRUE(again) << expr->str();
    EXPECT_TRUE(*again == *expr) << text;
    EXPECT_EQ(again->str(), expr->str());
  }
  EXPECT_EQ(dims.parse("2*B*S*D*H")->str(), "2*B*S*D*H");
  EXPECT_EQ(dims.parse("B/(S + D)^2")->str(), "B/(S + D)^2");
  EXPECT_EQ(dims.parse("( B ) * 2 -S")->str(), "2*B - S");
}

TEST_F(DimExprTest, RefusesWhatItCannotRead) {
  for (const char *text :
       {"", "+", "B +", "Q", "min()", "mod(B)", "pairs(B, S)", "pairs(casual, S, S)", "(B", "B)", "2B", "B^1000",
        "sin(B)", "B & S", "pairs(causal, S)", "999999999999999999999999999999999999999999"})
    EXPECT_FALSE(dims.parse(text)) << text;
  EXPECT_FALSE(dims.parse(std::string(100000, '(')));
  EXPECT_FALSE(dims.parse(std::string(100000, '-')));
}

TEST_F(DimExprTest, RandomExpressionsAgreeWithIntegers) {
  // Sums and products of small values, against plain arithmetic; and each reads back as itself.
  std::mt19937_64 random(7);
  const std::pair<DimExpr, int64_t> leaves[] = {{B, 1024}, {S, 8192}, {H, 32}, {c(3), 3}, {c(-2), -2}};
  for (int round = 0; round < 500; ++round) {
    auto [expr, value] = leaves[random() % 5];
    for (int step = 0; step < 6; ++step) {
      auto [leaf, number] = leaves[random() % 5];
      switch (random() % 3) {
      case 0:
        expr = expr + leaf;
        value += number;
        break;
      case 1:
        expr = expr - leaf;
        value -= number;
        break;
      case 2:
        if (std::abs(value) > (int64_t(1) << 40))
          break;
        expr = expr * leaf;
        value *= number;
        break;
      }
    }
    ASSERT_EQ(expr.size(), value) << expr.str();
    std::optional<DimExpr> again = dims.parse(expr.str());
    ASSERT_TRUE(again) << expr.str();
    ASSERT_TRUE(*again == expr) << expr.str();
  }
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Int128 countByHand(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t s, int64_t t) {
  Int128 count = 0;
  for (int64_t i = 0; i < s; ++i)
    for (int64_t key = 0; key < t; ++key)
      count += attends(mask, parameters, queryPosition(mask, parameters, i, s, t), key);
  return count;
}

void expectClosedForm(MaskKind mask, std::vector<int64_t> parameters, int64_t s, int64_t t) {
  std::optional<Int128> count = countPairs(mask, parameters, s, t);
  ASSERT_TRUE(count);
  EXPECT_TRUE(*count == countByHand(mask, parameters, s, t))
      << spelling(mask).str() << " n = " << (parameters.empty() ? 0 : parameters[0]) << " s = " << s << " t = " << t
      << ": " << toString(*count) << " instead of " << toString(countByHand(mask, parameters, s, t));
}

TEST(MaskTest, ClosedFormsCountWhatAttends) {
  for (int64_t s = 0; s <= 9; ++s)
    for (int64_t t = 0; t <= 9; ++t) {
      expectClosedForm(MaskKind::Full, {}, s, t);
      expectClosedForm(MaskKind::Causal, {}, s, t);
      for (int64_t n = 0; n <= 11; ++n)
        for (MaskKind mask : {MaskKind::Window, MaskKind::Chunk, MaskKind::Prefix})
          expectClosedForm(mask, {n}, s, t);
      for (std::vector<int64_t> lengths : {std::vector<int64_t>{}, {9}, {4, 5}, {2, 0, 3, 1}, {1, 1, 1}, {20}})
        expectClosedForm(MaskKind::Documents, lengths, s, t);
    }
}

TEST(MaskTest, RequestsStandOneBehindTheOther) {
  // Two requests: 2 queries behind 3 past keys see 4 + 5; 1 query without a past sees itself.
  EXPECT_TRUE(countPairs(MaskKind::Requests, {2, 3, 1, 0}, 3, 6) == Int128(10));
  EXPECT_EQ(queryPosition(MaskKind::Requests, {2, 3, 1, 0}, 0, 3, 6), 3);
  EXPECT_EQ(queryPosition(MaskKind::Requests, {2, 3, 1, 0}, 2, 3, 6), 5);
  expectClosedForm(MaskKind::Requests, {2, 3, 1, 0}, 3, 6);
  expectClosedForm(MaskKind::Requests, {1, 7, 1, 0, 4, 2}, 6, 15);
  expectClosedForm(MaskKind::Requests, {1, 7, 1, 0, 4, 2}, 6, 12);
  expectClosedForm(MaskKind::Requests, {1, 7, 1, 0, 4, 2}, 4, 15);
}

TEST(MaskTest, KnownCounts) {
  EXPECT_TRUE(countPairs(MaskKind::Causal, {}, 8192, 8192) == Int128(33558528));
  EXPECT_TRUE(countPairs(MaskKind::Causal, {}, 1, 8192) == Int128(8192)); // one decoded token sees all
  EXPECT_TRUE(countPairs(MaskKind::Window, {4096}, 8192, 8192) == Int128(4096) * 4097 / 2 + Int128(4096) * 4096);
  EXPECT_TRUE(countPairs(MaskKind::Window, {100}, 50, 50) == countPairs(MaskKind::Causal, {}, 50, 50));
}

TEST(MaskTest, HugeCountsDoNotWrap) {
  int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(toString(*countPairs(MaskKind::Causal, {}, max, max)), "42535295865117307928310139910543638528");
  EXPECT_FALSE(countPairs(MaskKind::Causal, {}, -1, 4));
  EXPECT_FALSE(countPairs(MaskKind::Window, {}, 4, 4));
  EXPECT_FALSE(countPairs(MaskKind::Requests, {1}, 4, 4));
  EXPECT_FALSE(countPairs(MaskKind::Documents, {-1}, 4, 4));
  EXPECT_FALSE(countPairs(MaskKind::Requests, {max, max, max, max}, -1, max));
}

TEST(MaskTest, SpellingsReadBack) {
  for (MaskKind kind : {MaskKind::Full, MaskKind::Causal, MaskKind::Window, MaskKind::Chunk, MaskKind::Prefix,
                        MaskKind::Documents, MaskKind::Requests})
    EXPECT_EQ(maskKindFrom(spelling(kind)), kind);
  EXPECT_FALSE(maskKindFrom("casual"));
}

TEST(Int128Test, PrintsItsEnds) {
  Int128 min = static_cast<Int128>(1) << 127;
  EXPECT_EQ(toString(min), "-170141183460469231731687303715884105728");
  EXPECT_EQ(toString(~min), "170141183460469231731687303715884105727");
  EXPECT_EQ(toString(Int128(0)), "0");
}

} // namespace
