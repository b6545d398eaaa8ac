//===- PartitionTest.cpp - units to stages, against all partitions ----------------------===//

#include "stg/Schedule/Partition.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>
#include <random>

using namespace stg;

namespace {

/// Cost of the most expensive stage, then the sum of squares.
using Quality = std::pair<uint64_t, double>;

Quality qualityOf(const std::vector<uint64_t> &costs, const Partition &partition) {
  Quality quality{0, 0};
  size_t next = 0;
  for (uint32_t units : partition) {
    uint64_t cost = std::accumulate(costs.begin() + next, costs.begin() + next + units, uint64_t{0});
    next += units;
    quality.first = std::max(quality.first, cost);
    quality.second += static_cast<double>(cost) * static_cast<double>(cost);
  }
  return quality;
}

/// The best of all partitions into stages that are not empty.
Quality bestOfAll(const std::vector<uint64_t> &costs, uint32_t stages, Partition &prefix) {
  auto used = std::accumulate(prefix.begin(), prefix.end(), 0u);
  if (prefix.size() + 1 == stages) {
    prefix.push_back(static_cast<uint32_t>(costs.size()) - used);
    Quality quality = qualityOf(costs, prefix);
    prefix.pop_back();
    return quality;
  }
  Quality best{~uint64_t{0}, 0};
  for (uint32_t units = 1; used + units + (stages - prefix.size() - 1) <= costs.size(); ++units) {
    prefix.push_back(units);
    best = std::min(best, bestOfAll(costs, stages, prefix));
    prefix.pop_back();
  }
  return best;
}

TEST(Partition, EvenDiffersByOneAtMost) {
  EXPECT_EQ(partitionEven(32, 4), (Partition{8, 8, 8, 8}));
  EXPECT_EQ(partitionEven(30, 4), (Partition{8, 8, 7, 7}));
  EXPECT_EQ(partitionEven(3, 4), std::nullopt);
  EXPECT_EQ(partitionEven(3, 0), std::nullopt);
}

TEST(Partition, BalancedWeighsUnits) {
  // A head as expensive as three blocks takes the place of three.
  EXPECT_EQ(partitionBalanced({1, 1, 1, 1, 1, 1, 1, 1, 1, 3}, 4), (Partition{3, 3, 3, 1}));
  // Filling stages one after the other up to the bound, 8, would leave the last with a cost of 2.
  EXPECT_EQ(partitionBalanced({8, 3, 3, 2, 2}, 3), (Partition{1, 2, 2}));
  EXPECT_EQ(partitionBalanced({0, 0, 5}, 3), (Partition{1, 1, 1}));
  EXPECT_EQ(partitionBalanced({1, 2}, 3), std::nullopt);
}

TEST(Partition, BalancedIsTheBestOfAll) {
  std::mt19937 random(20);
  for (int round = 0; round < 400; ++round) {
    std::vector<uint64_t> costs(1 + random() % 10);
    for (uint64_t &cost : costs)
      cost = random() % (round % 2 ? 5 : 1000);
    auto stages = static_cast<uint32_t>(1 + random() % costs.size());
    std::optional<Partition> partition = partitionBalanced(costs, stages);
    ASSERT_TRUE(partition);
    ASSERT_EQ(partition->size(), stages);
    ASSERT_EQ(std::accumulate(partition->begin(), partition->end(), 0u), costs.size());
    Partition prefix;
    ASSERT_EQ(qualityOf(costs, *partition), bestOfAll(costs, stages, prefix)) << testing::PrintToString(costs);
  }
}

TEST(Partition, BalancedIsFast) {
  std::vector<uint64_t> costs(10'000, 1'000'000'000'000'000);
  EXPECT_EQ(partitionBalanced(costs, 100), Partition(100, 100));
}

// Where the least squares would take hours, the bound still holds, and no stage is empty.
TEST(Partition, BalancedIsFastWhereOneUnitIsDear) {
  std::vector<uint64_t> costs(1'000'000, 1);
  costs.back() = 1'000'000;
  for (uint32_t stages : {2u, 50u, 500'000u, 1'000'000u}) {
    std::optional<Partition> partition = partitionBalanced(costs, stages);
    ASSERT_TRUE(partition);
    ASSERT_EQ(partition->size(), stages);
    EXPECT_EQ(std::accumulate(partition->begin(), partition->end(), 0u), costs.size());
    EXPECT_EQ(*std::min_element(partition->begin(), partition->end()), 1u);
  }
}

const std::vector<UnitRun> kModel = {{"first"}, {"dense", 3}, {"sparse", 58}, {"mtp"}, {"last"}};

std::variant<Partition, CutRefusal> cut(std::vector<UnitRun> end, uint32_t middle = 14) {
  std::vector<std::vector<UnitRun>> stages = {{{"first"}, {"dense", 3}}};
  stages.insert(stages.end(), middle, {{"sparse", 4}});
  stages.push_back(std::move(end));
  return partitionAsListed(kModel, stages);
}

CutRefusal refusalOf(std::variant<Partition, CutRefusal> made) {
  EXPECT_TRUE(std::holds_alternative<CutRefusal>(made));
  return std::get<CutRefusal>(made);
}

// The cut of a plan for DeepSeek-V3 on 16 stages.
TEST(Partition, ListedUnitsMakeStages) {
  auto made = cut({{"sparse", 2}, {"mtp"}, {"last"}});
  ASSERT_TRUE(std::holds_alternative<Partition>(made));
  Partition expected(16, 4);
  EXPECT_EQ(std::get<Partition>(made), expected);
}

TEST(Partition, NamesUnitsWithoutAStage) {
  CutRefusal left = refusalOf(cut({{"mtp"}, {"last"}}));
  EXPECT_EQ(left.fault, CutFault::Left);
  EXPECT_EQ(left.name, "sparse");
  EXPECT_EQ(left.count, 2u);
  EXPECT_EQ(left.total, 58u);
  EXPECT_EQ(left.stage, 15u);
  CutRefusal end = refusalOf(cut({{"sparse", 2}, {"mtp"}}));
  EXPECT_EQ(end.fault, CutFault::Left);
  EXPECT_EQ(end.name, "last");
}

TEST(Partition, NamesUnitsThatTheModelLacks) {
  CutRefusal many = refusalOf(cut({{"sparse", 3}, {"mtp"}, {"last"}}));
  EXPECT_EQ(many.fault, CutFault::TooMany);
  EXPECT_EQ(many.name, "sparse");
  EXPECT_EQ(many.count, 1u);
  CutRefusal unknown = refusalOf(cut({{"sparze", 2}, {"mtp"}, {"last"}}));
  EXPECT_EQ(unknown.fault, CutFault::UnknownUnit);
  EXPECT_EQ(unknown.name, "sparze");
}

TEST(Partition, NamesUnitsOutOfOrderAndEmptyStages) {
  CutRefusal order = refusalOf(cut({{"mtp"}, {"sparse", 2}, {"last"}}));
  EXPECT_EQ(order.fault, CutFault::OutOfOrder);
  EXPECT_EQ(order.name, "mtp");
  EXPECT_EQ(refusalOf(partitionAsListed({{"a"}}, {{{"a"}}, {}})).fault, CutFault::EmptyStage);
}

} // namespace
