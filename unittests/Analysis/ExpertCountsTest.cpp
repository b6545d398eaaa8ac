//===- ExpertCountsTest.cpp ---------------------------------------------------===//
#include "stg/Analysis/ExpertCounts.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

namespace stg {
namespace {

TEST(ExpertCounts, SumToTheTokensExactly) {
  for (double exponent : {0.0, 0.3, 1.0, 1.2, 2.5, 64.0})
    for (size_t experts : {1, 3, 8, 256})
      for (int64_t tokens : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{4096}, int64_t{1} << 50}) {
        std::vector<int64_t> counts = apportion(tokens, zipfLoads(experts, exponent, 7));
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), tokens);
        EXPECT_TRUE(llvm::all_of(counts, [](int64_t count) { return count >= 0; }));
      }
}

TEST(ExpertCounts, FollowTheLawOfZipf) {
  for (double exponent : {0.5, 1.0, 1.2, 3.0}) {
    std::vector<uint64_t> loads = zipfLoads(64, exponent, 1);
    llvm::sort(loads, std::greater<uint64_t>());
    for (size_t i = 0; i < loads.size(); ++i) {
      double expected = std::ldexp(1.0, 40) / std::pow(static_cast<double>(i + 1), exponent);
      EXPECT_NEAR(static_cast<double>(loads[i]), expected, expected * 1e-9 + 1) << exponent << " " << i;
    }
  }
}

// A greater place never gets more, whatever is left over.
TEST(ExpertCounts, FallWithThePlace) {
  std::vector<uint64_t> loads = zipfLoads(16, 1.1, 3);
  std::vector<int64_t> counts = apportion(1001, loads);
  for (size_t a = 0; a < loads.size(); ++a)
    for (size_t b = 0; b < loads.size(); ++b)
      if (loads[a] >= loads[b])
        EXPECT_GE(counts[a] + 1, counts[b]);
  llvm::sort(loads, std::greater<uint64_t>());
  counts = apportion(1001, loads);
  EXPECT_TRUE(llvm::is_sorted(counts, std::greater<int64_t>()));
}

// The numbers are part of the contract: a seed means the same on every machine and in every version.
TEST(ExpertCounts, AreTheSameForASeed) {
  EXPECT_EQ(apportion(1000, zipfLoads(8, 1.2, 7)), apportion(1000, zipfLoads(8, 1.2, 7)));
  EXPECT_EQ(apportion(1000, zipfLoads(8, 1.2, 7)), (std::vector<int64_t>{41, 81, 62, 35, 187, 50, 115, 429}));
  EXPECT_EQ(apportion(1000, zipfLoads(8, 1.2, 8)), (std::vector<int64_t>{81, 115, 62, 429, 35, 187, 50, 41}));
}

TEST(ExpertCounts, AreEqualWhereLoadsAre) {
  EXPECT_EQ(apportion(64, zipfLoads(8, 0, 5)), std::vector<int64_t>(8, 8));
  EXPECT_EQ(apportion(64, loadsOf({}, 8)), std::vector<int64_t>(8, 8));
  // What is left over goes to the lowest.
  EXPECT_EQ(apportion(10, loadsOf({}, 4)), (std::vector<int64_t>{3, 3, 2, 2}));
}

TEST(ExpertCounts, OfATraceAreInProportion) {
  Routing routing{.kind = RoutingKind::Trace, .loads = {0, 3, 1}};
  EXPECT_EQ(apportion(10, loadsOf(routing, 3)), (std::vector<int64_t>{0, 8, 2}));
  EXPECT_EQ(apportion(10, {UINT64_MAX, UINT64_MAX}), (std::vector<int64_t>{5, 5}));
}

} // namespace
} // namespace stg
