//===- MakeScheduleTest.cpp - orders as published and as upstream code makes them ---===//

#include "Schedule/ScheduleCases.h"
#include "stg/IR/ScheduleText.h"
#include "gtest/gtest.h"

using namespace stg;
using namespace stg::test;

namespace {

TEST(MakeSchedule, GivesThePublishedOrders) {
  std::vector<OrderCase> cases = orderCases("published.txt");
  EXPECT_EQ(cases.size(), 7u);
  for (const OrderCase &published : cases)
    EXPECT_EQ(textOf(make(published.kind, published.sizes)), published.text) << published.name;
}

TEST(MakeSchedule, GivesTheOrdersOfUpstreamCode) {
  std::vector<OrderCase> cases = orderCases("upstream.txt");
  EXPECT_EQ(cases.size(), 22u);
  for (const OrderCase &upstream : cases)
    EXPECT_EQ(textOf(make(upstream.kind, upstream.sizes)), upstream.text) << upstream.name;
}

/// The number of schedules that were looked at, and the digest of their texts one after the other.
struct Grid {
  void add(ScheduleKind kind, const ScheduleSizes &sizes) {
    if (refuse(kind, sizes))
      return;
    ++count;
    digest.add(textOf(make(kind, sizes)));
  }
  int count = 0;
  Digest digest;
};

// The digests below are of what upstream code makes for all sizes of the loops (see orders/upstream.txt for which
// code).

TEST(MakeSchedule, InterleavedIsMegatronsForAllSizes) {
  Grid grid;
  for (uint32_t p = 2; p <= 8; ++p)
    for (uint32_t v = 2; v <= 4; ++v)
      for (uint32_t m = p; m <= 4 * p; m += p)
        grid.add(ScheduleKind::Interleaved, {p, v, m});
  EXPECT_EQ(grid.count, 84);
  EXPECT_EQ(grid.digest.value(), 0xf4885e3ed3c23f3du);
}

TEST(MakeSchedule, InterleavedTakesTheGroupsThatMegatronTakes) {
  Grid grid;
  for (uint32_t p = 2; p <= 6; ++p)
    for (uint32_t v = 2; v <= 3; ++v)
      for (uint32_t group = p; group < p + 4; ++group)
        for (uint32_t m = group; m <= 3 * group; ++m)
          grid.add(ScheduleKind::Interleaved, {p, v, m, group});
  EXPECT_EQ(grid.count, 240);
  EXPECT_EQ(grid.digest.value(), 0x9a2eafe7492d8593u);
}

TEST(MakeSchedule, InterleavedZeroBubbleIsPyTorchsForAllSizes) {
  Grid grid;
  for (uint32_t p = 1; p <= 8; ++p)
    for (uint32_t v = 1; v <= 4; ++v)
      for (uint32_t m = 1; m <= 32; ++m)
        grid.add(ScheduleKind::InterleavedZeroBubble, {p, v, m});
  EXPECT_EQ(grid.count, 652);
  EXPECT_EQ(grid.digest.value(), 0xb33df5172a1eea4cu);
}

TEST(MakeSchedule, ZeroBubbleVIsPyTorchsForAllSizes) {
  Grid grid;
  for (uint32_t p = 1; p <= 8; ++p)
    for (uint32_t m = 1; m <= 32; ++m)
      grid.add(ScheduleKind::ZeroBubbleV, {p, 2, m});
  EXPECT_EQ(grid.count, 256);
  EXPECT_EQ(grid.digest.value(), 0x2c49a576aea541b1u);
}

TEST(MakeSchedule, DualPipesAreDeepSeeksForAllSizes) {
  Grid twoWay, folded;
  for (uint32_t p = 1; p <= 8; ++p)
    for (uint32_t m = 2 * p; m <= 4 * p; ++m) {
      twoWay.add(ScheduleKind::DualPipe, {p, 1, m});
      folded.add(ScheduleKind::DualPipeV, {p, 2, m});
    }
  EXPECT_EQ(twoWay.count, 24);
  EXPECT_EQ(twoWay.digest.value(), 0x6ceb2a58d08f9a83u);
  EXPECT_EQ(folded.count, 80);
  EXPECT_EQ(folded.digest.value(), 0xf11f3672c3c76b94u);
}

// sail-sg's scheduler, given the memory of 1f1b and equal costs, comes to ZB-H1 wherever there are more micro-batches
// than ranks. With fewer it takes forwards earlier, to no effect.
TEST(MakeSchedule, ZeroBubbleH1IsWhatSailsSchedulerComesTo) {
  Grid grid;
  for (uint32_t p = 2; p <= 8; ++p)
    for (uint32_t m = p + 1; m <= 4 * p; ++m)
      grid.add(ScheduleKind::ZeroBubbleH1, {p, 1, m});
  EXPECT_EQ(grid.count, 105);
  EXPECT_EQ(grid.digest.value(), 0x75a75ec4be2368b6u);
}

// Megatron-LM schedules.py:1226, the table of PP2 N3 M5 with VP2.
TEST(MakeSchedule, TakesMicroBatchesInMegatronsTable) {
  Schedule schedule = make(ScheduleKind::Interleaved, {2, 2, 5, 3});
  std::vector<uint32_t> microBatches, chunks;
  for (const Slot &slot : schedule.ranks[0])
    if (slot.action.kind == ActionKind::Forward) {
      microBatches.push_back(slot.action.microBatch);
      chunks.push_back(slot.action.stage / 2);
    }
  EXPECT_EQ(microBatches, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(chunks, (std::vector<uint32_t>{0, 0, 0, 1, 1, 1, 0, 0, 1, 1}));
}

// Megatron-LM arguments.py turns a virtual size of 1 into none.
TEST(MakeSchedule, OneChunkIsNoInterleaving) {
  EXPECT_EQ(make(ScheduleKind::Interleaved, {4, 1, 6}), make(ScheduleKind::OneForwardOneBackward, {4, 1, 6}));
}

TEST(MakeSchedule, PlacesStages) {
  EXPECT_EQ(make(ScheduleKind::Interleaved, {4, 2, 8}).placement.stagesOf(1), (std::vector<uint32_t>{1, 5}));
  EXPECT_EQ(make(ScheduleKind::ZeroBubbleV, {4, 2, 8}).placement.stagesOf(1), (std::vector<uint32_t>{1, 6}));
  EXPECT_EQ(make(ScheduleKind::DualPipeV, {4, 2, 8}).placement.stagesOf(3), (std::vector<uint32_t>{3, 4}));
  Placement twoWay = make(ScheduleKind::DualPipe, {4, 1, 8}).placement;
  EXPECT_EQ(twoWay.stagesOf(1), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(twoWay.rankOf(0, 3), 0u); // enters at the first rank
  EXPECT_EQ(twoWay.rankOf(0, 4), 3u); // enters at the last one
}

TEST(MakeSchedule, KnowsItsNames) {
  for (ScheduleKind kind : kScheduleKinds)
    EXPECT_EQ(scheduleNamed(nameOf(kind)), kind);
  EXPECT_EQ(scheduleNamed("zb_h3"), std::nullopt);
}

} // namespace
