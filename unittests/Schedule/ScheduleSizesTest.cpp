//===- ScheduleSizesTest.cpp - which sizes a schedule refuses ------------------===//

#include "Schedule/ScheduleCases.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

std::string refusal(ScheduleKind kind, const ScheduleSizes &sizes) {
  auto made = makeSchedule(kind, sizes);
  auto *refused = std::get_if<ScheduleRefusal>(&made);
  return refused ? textOf(*refused) : "taken";
}

TEST(ScheduleSizes, InterleavedNeedsWholeGroups) {
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 30}),
            "interleaved_1f1b needs micro-batches in multiples of 4, not 30; 28 and 32 work");
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 3}),
            "interleaved_1f1b needs micro-batches in multiples of 4, not 3; 4 work");
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 30, 5}), "taken");
}

// Megatron-LM d98e8a64 schedules.py:1160-1180.
TEST(ScheduleSizes, InterleavedTakesMegatronsGroups) {
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 30, 3}),
            "interleaved_1f1b needs groups of 4 or more, not 3; 5 work");
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 8, 9}),
            "interleaved_1f1b needs groups of 8 or less, not 9; 8 work");
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 14, 6}),
            "interleaved_1f1b needs groups that leave no micro-batch over or at least 4, not 6; 5 and 7 work");
  EXPECT_EQ(refusal(ScheduleKind::Interleaved, {4, 2, 9, 5}), "taken");
}

TEST(ScheduleSizes, InterleavedZeroBubbleNeedsEqualRounds) {
  EXPECT_EQ(refusal(ScheduleKind::InterleavedZeroBubble, {4, 2, 11}),
            "interleaved_zb needs micro-batches for 2 equal rounds, not 11; 10 and 12 work");
  EXPECT_EQ(refusal(ScheduleKind::InterleavedZeroBubble, {4, 2, 10}), "taken");
  EXPECT_EQ(refusal(ScheduleKind::InterleavedZeroBubble, {4, 2, 3}), "taken");
}

TEST(ScheduleSizes, ChunksAreThoseOfTheSchedule) {
  EXPECT_EQ(refusal(ScheduleKind::OneForwardOneBackward, {4, 2, 8}), "1f1b needs 1 chunk, not 2; 1 works");
  EXPECT_EQ(refusal(ScheduleKind::ZeroBubbleV, {4, 1, 8}), "zb_v needs 2 chunks, not 1; 2 work");
  EXPECT_EQ(refusal(ScheduleKind::DualPipeV, {4, 3, 8}), "dualpipev needs 2 chunks, not 3; 2 work");
}

TEST(ScheduleSizes, DualPipeFillsThePipeFromBothEnds) {
  EXPECT_EQ(refusal(ScheduleKind::DualPipe, {5, 1, 20}), "dualpipe needs ranks in multiples of 2, not 5; 4 and 6 work");
  EXPECT_EQ(refusal(ScheduleKind::DualPipe, {8, 1, 15}), "dualpipe needs 16 micro-batches or more, not 15; 16 work");
  EXPECT_EQ(refusal(ScheduleKind::DualPipe, {8, 1, 17}),
            "dualpipe needs micro-batches in multiples of 2, not 17; 16 and 18 work");
  EXPECT_EQ(refusal(ScheduleKind::DualPipeV, {4, 2, 7}), "dualpipev needs 8 micro-batches or more, not 7; 8 work");
  EXPECT_EQ(refusal(ScheduleKind::DualPipeV, {4, 2, 9}), "taken");
}

TEST(ScheduleSizes, NothingIsAsFewAsNone) {
  for (ScheduleKind kind : kScheduleKinds) {
    uint32_t chunks = fixedChunks(kind).value_or(1);
    EXPECT_NE(refusal(kind, {0, chunks, 8}), "taken");
    EXPECT_NE(refusal(kind, {4, 0, 8}), "taken");
    EXPECT_NE(refusal(kind, {4, chunks, 0}), "taken");
  }
}

// What a refusal names works, and nothing between it and the size that was refused does.
TEST(ScheduleSizes, NearestSizesWork) {
  for (ScheduleKind kind : kScheduleKinds)
    for (uint32_t p = 1; p <= 9; ++p)
      for (uint32_t m = 0; m <= 40; ++m) {
        ScheduleSizes sizes = test::sizesOf(kind, p, m);
        if (!fixedChunks(kind))
          sizes.chunks = 3;
        std::optional<ScheduleRefusal> refused = refuse(kind, sizes);
        bool otherwiseWell = !refuse(kind, {p, sizes.chunks, 4 * p});
        if (!refused || refused->size != ScheduleSize::MicroBatches || !otherwiseWell)
          continue;
        ASSERT_TRUE(refused->above) << nameOf(kind).str() << " " << p << " " << m;
        for (uint32_t near = refused->below.value_or(0); near <= *refused->above; ++near) {
          sizes.microBatches = near;
          bool named = near == refused->below || near == *refused->above;
          EXPECT_EQ(!refuse(kind, sizes), named) << nameOf(kind).str() << " " << p << " " << near;
        }
      }
}

} // namespace
