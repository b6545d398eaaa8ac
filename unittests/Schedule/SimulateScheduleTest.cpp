//===- SimulateScheduleTest.cpp - times and peaks of published schedules -------------===//

#include "stg/Schedule/SimulateSchedule.h"
#include "Schedule/ScheduleCases.h"
#include "stg/IR/ScheduleText.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace stg;
using namespace stg::test;
using testing::Each;
using testing::ElementsAre;

namespace {

/// F = I = W = 1 for all stages of a rank together, no time for messages.
ScheduleTimes unitTimes(const Schedule &schedule) {
  double cost = 1.0 * schedule.placement.ranks / schedule.placement.stages;
  auto times = simulateSchedule(schedule, uniformCosts(schedule.placement.stages, {cost, cost, cost}));
  EXPECT_TRUE(times);
  return times.value_or(ScheduleTimes{});
}

std::vector<double> spans(const ScheduleTimes &times) {
  std::vector<double> all;
  for (const RankTimes &rank : times.ranks)
    all.push_back(rank.span());
  return all;
}

// Makespan, span per rank and peak in flight (chunks) of p = 4, m = 8 by a simulator of its own (the facts that this
// compiler is judged by, section 2.5); the peaks of interleaved agree with 2205.05198.
TEST(SimulateSchedule, GivesThePublishedTimesAndPeaks) {
  struct Row {
    ScheduleKind kind;
    uint32_t chunks;
    double makespan;
    std::vector<double> spans;
    std::vector<double> peaks;
  };
  const Row rows[] = {
      {ScheduleKind::GPipe, 1, 33, {33, 30, 27, 24}, {8, 8, 8, 8}},
      {ScheduleKind::OneForwardOneBackward, 1, 33, {33, 30, 27, 24}, {4, 3, 2, 1}},
      {ScheduleKind::Interleaved, 2, 28.5, {28.5, 27, 25.5, 24}, {11, 9, 7, 5}},
      {ScheduleKind::ZeroBubbleH1, 1, 27, {27, 26, 25, 24}, {4, 3, 2, 1}},
      {ScheduleKind::ZeroBubbleH2, 1, 27, {24, 24, 24, 24}, {7, 5, 3, 1}},
      {ScheduleKind::ZeroBubbleV, 2, 25.5, {24, 24, 24, 24}, {8, 8, 8, 8}},
  };
  for (const Row &row : rows) {
    Schedule schedule = make(row.kind, {4, row.chunks, 8});
    ScheduleTimes times = unitTimes(schedule);
    EXPECT_DOUBLE_EQ(times.makespan, row.makespan) << nameOf(row.kind).str();
    EXPECT_EQ(spans(times), row.spans) << nameOf(row.kind).str();
    EXPECT_EQ(peakHeld(schedule), row.peaks) << nameOf(row.kind).str();
  }
}

// The same facts; the bubble is (8/2 - 1) (F&B + B - 3 W) of 2412.19437 table 2, B a full backward.
TEST(SimulateSchedule, GivesDualPipesTimesAndPeaks) {
  Schedule schedule = make(ScheduleKind::DualPipe, {8, 1, 20});
  auto times = simulateSchedule(schedule, uniformCosts(8, {1, 1, 1}));
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->makespan, 66);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    EXPECT_DOUBLE_EQ(times->ranks[rank].busy, 60);
    EXPECT_DOUBLE_EQ(times->bubble(rank), 6);
  }
  EXPECT_THAT(peakHeld(schedule), Each(9));
}

TEST(SimulateSchedule, GivesDualPipeVsTimesAndPeaks) {
  Schedule schedule = make(ScheduleKind::DualPipeV, {4, 2, 10});
  auto times = simulateSchedule(schedule, uniformCosts(8, {1, 1, 1}));
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->makespan, 66);
  for (const RankTimes &rank : times->ranks)
    EXPECT_DOUBLE_EQ(rank.busy, 60);
  EXPECT_THAT(peakHeld(schedule), Each(9));
}

// With F&B = 2.5 or 2 the formula holds for the ranks in the middle, and others wait less.
TEST(SimulateSchedule, OverlapShortensPairs) {
  Schedule schedule = make(ScheduleKind::DualPipe, {8, 1, 20});
  for (double pair : {2.5, 2.0}) {
    ScheduleCosts costs = uniformCosts(8, {1, 1, 1});
    costs.overlapped = pair / 3;
    auto times = simulateSchedule(schedule, costs);
    ASSERT_TRUE(times);
    double formula = 3 * (pair + 2 - 3);
    EXPECT_NEAR(times->bubble(3), formula, 1e-9);
    EXPECT_NEAR(times->bubble(4), formula, 1e-9);
    for (uint32_t rank = 0; rank < 8; ++rank)
      EXPECT_LE(times->bubble(rank), formula + 1e-9);
  }
}

TEST(SimulateSchedule, TimesSlots) {
  auto schedule = std::get<Schedule>(readSchedule("0: 0F0 0B0\n1: 1F0 1B0\n", loopPlacement(2, 1, 1)));
  ScheduleCosts costs = uniformCosts(2, {1, 2, 4}, 0.5);
  costs.stages[1] = {10, 20, 40, 0.5, 0.5};
  auto times = simulateSchedule(schedule, costs);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->ranks[1].slots[0].start, 1.5);
  EXPECT_DOUBLE_EQ(times->ranks[1].slots[1].start, 11.5);
  EXPECT_DOUBLE_EQ(times->ranks[0].slots[1].start, 72);
  EXPECT_DOUBLE_EQ(times->makespan, 78);
  EXPECT_DOUBLE_EQ(times->bubble(0), 71);
}

TEST(SimulateSchedule, LetsMessagesLeaveBeforeTheEnd) {
  auto schedule = std::get<Schedule>(readSchedule("0: 0F0 0B0\n1: 1F0 1B0\n", loopPlacement(2, 1, 1)));
  ScheduleCosts costs = uniformCosts(2, {3, 2, 4});
  costs.stages[0].outputAhead = 1;
  costs.stages[1].inputGradAhead = 100; // of I, and this is B
  costs.stages[1].backwardAhead = 4;
  auto times = simulateSchedule(schedule, costs);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->ranks[1].slots[0].start, 2);
  EXPECT_DOUBLE_EQ(times->ranks[0].slots[1].start, 2 + 3 + 2);
  EXPECT_DOUBLE_EQ(times->makespan, 13);
}

// At the turn of a V both stages are on one rank: no message.
TEST(SimulateSchedule, SendsNothingWithinARank) {
  Schedule schedule = make(ScheduleKind::ZeroBubbleV, {1, 2, 1});
  auto times = simulateSchedule(schedule, uniformCosts(2, {1, 1, 1}, 100));
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->makespan, 6);
}

TEST(SimulateSchedule, HasNoTimesForADeadlock) {
  auto schedule = std::get<Schedule>(readSchedule("0: 0F0 0B0 0F1 0B1\n1: 1F0 1F1 1B0 1B1\n", loopPlacement(2, 1, 2)));
  EXPECT_FALSE(simulateSchedule(schedule, uniformCosts(2, {})));
}

TEST(SimulateSchedule, HoldsAShareUntilTheWeightGradient) {
  auto schedule = std::get<Schedule>(readSchedule("0: 0F0 0I0 0F1 0W0 0B1\n", loopPlacement(1, 1, 2)));
  EXPECT_THAT(peakHeld(schedule, {.forward = 1, .weightGrad = 0.25}), ElementsAre(1.25));
}

} // namespace
