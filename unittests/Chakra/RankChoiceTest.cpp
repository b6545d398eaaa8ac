//===- RankChoiceTest.cpp - which ranks of a trace are written --------------===//

#include "stg/Chakra/RankChoice.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

using Ranges = std::vector<RankRange>;

TEST(RankChoice, ListsAreSortedAndJoined) {
  EXPECT_EQ(readRankList("0-4095,7"), (Ranges{{0, 4095}}));
  EXPECT_EQ(readRankList("9, 3-4,5,0"), (Ranges{{0, 0}, {3, 5}, {9, 9}}));
  for (const char *wrong : {"", "a", "1-", "-1", "4-3", "1,,2", "1-2-3", "0x1", "4294967296"})
    EXPECT_FALSE(readRankList(wrong)) << wrong;
}

TEST(RankChoice, ShardsCountFromZero) {
  EXPECT_EQ(readShard("0/1"), (Shard{0, 1}));
  EXPECT_EQ(readShard("15/16"), (Shard{15, 16}));
  for (const char *wrong : {"", "1", "1/1", "16/16", "-1/4", "0/0", "1/2/3", "a/b"})
    EXPECT_FALSE(readShard(wrong)) << wrong;
}

TEST(RankChoice, ShardsPartitionAnyWorldEvenly) {
  for (uint32_t world : {1u, 2u, 3u, 7u, 64u, 1000u, 131072u})
    for (uint32_t count : {1u, 2u, 3u, 5u, 64u, 999u}) {
      uint32_t next = 0;
      for (uint32_t i = 0; i < count; ++i)
        for (const RankRange &range : RankChoice{.list = {}, .shard = {i, count}}.in(world)) {
          EXPECT_EQ(range.first, next);
          uint32_t size = range.last - range.first + 1;
          EXPECT_TRUE(size == world / count || size == world / count + 1);
          next = range.last + 1;
        }
      EXPECT_EQ(next, world) << count << " shards";
    }
}

TEST(RankChoice, ListsMayLeaveTheWorld) {
  RankChoice choice{.list = {{0, 3}, {6, 9}}, .shard = {}};
  EXPECT_EQ(choice.outside(10), std::nullopt);
  EXPECT_EQ(choice.outside(8), 8u);
  EXPECT_EQ(choice.outside(5), 6u);
}

TEST(RankChoice, RanksOfAClassAreChosen) {
  // Ranks 1, 3, 5, 7, 9, … 31 of a mesh 8 x 2 x 2.
  bundle::RankSet odd{.first = 1, .spans = {{4, 8, 0}, {2, 2, 0}}};
  EXPECT_EQ(chosenRanks(Ranges{{0, 3}, {7, 8}, {30, 90}}, odd), (std::vector<uint32_t>{1, 3, 7, 31}));
  EXPECT_TRUE(chosenRanks(Ranges{{8, 8}}, odd).empty());
}

} // namespace
