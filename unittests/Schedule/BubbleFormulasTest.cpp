//===- BubbleFormulasTest.cpp - published bubbles and memory over many sizes ----------===//

#include "Schedule/ScheduleCases.h"
#include "stg/Schedule/SimulateSchedule.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace stg;
using namespace stg::test;

namespace {

constexpr double kTolerance = 1e-9;

ScheduleTimes timesOf(const Schedule &schedule, StageCosts costs, double send = 0) {
  auto times = simulateSchedule(schedule, uniformCosts(schedule.placement.stages, costs, send));
  EXPECT_TRUE(times);
  return times.value_or(ScheduleTimes{});
}

constexpr StageCosts kCosts[] = {{1, 1, 1}, {1, 1, 0.5}, {1.25, 1, 0.75}, {2, 3, 1}};

// Narayanan et al. 2104.04473, section 2.2: (p - 1) / m of the ideal time.
TEST(BubbleFormulas, GPipeAndOneForwardOneBackward) {
  for (ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneForwardOneBackward})
    for (StageCosts costs : kCosts)
      for (uint32_t p = 1; p <= 9; ++p)
        for (uint32_t m = 1; m <= 4 * p; ++m) {
          Schedule schedule = make(kind, {p, 1, m});
          double perMicroBatch = costs.forward + costs.backward();
          EXPECT_NEAR(timesOf(schedule, costs).makespan, (m + p - 1) * perMicroBatch, kTolerance);
          std::vector<double> peaks = peakHeld(schedule);
          for (uint32_t rank = 0; rank < p; ++rank)
            EXPECT_EQ(peaks[rank], kind == ScheduleKind::GPipe ? m : std::min(m, p - rank)) << p << " " << m;
        }
}

// The same: (p - 1) / (v m). Peaks from Megatron-LM's warm-up: p v + p - 1 - 2 (i - 1) chunks on rank i from 1.
TEST(BubbleFormulas, Interleaved) {
  for (uint32_t p = 2; p <= 8; ++p)
    for (uint32_t v = 2; v <= 4; ++v)
      for (uint32_t m = p; m <= 4 * p; m += p) {
        Schedule schedule = make(ScheduleKind::Interleaved, {p, v, m});
        EXPECT_NEAR(timesOf(schedule, {1, 1.5, 0.5}).makespan, 3.0 * (m * v + p - 1), kTolerance);
        std::vector<double> peaks = peakHeld(schedule);
        for (uint32_t rank = 0; rank < p; ++rank)
          EXPECT_EQ(peaks[rank], std::min(m * v, p * v + p - 1 - 2 * rank)) << p << " " << v << " " << m;
      }
}

// Qi et al. 2401.10241, table 2 and section 2; rank i from 1, in units of M_B.
TEST(BubbleFormulas, ZeroBubbleH1) {
  for (StageCosts costs : kCosts)
    for (uint32_t p = 1; p <= 9; ++p)
      for (uint32_t m = p; m <= 4 * p; ++m) {
        Schedule schedule = make(ScheduleKind::ZeroBubbleH1, {p, 1, m});
        double bubble = (p - 1) * (costs.forward + costs.inputGrad - costs.weightGrad);
        EXPECT_NEAR(timesOf(schedule, costs).longestSpan(), m * (costs.forward + costs.backward()) + bubble, kTolerance)
            << p << " " << m;
      }
}

TEST(BubbleFormulas, ZeroBubbleH2) {
  for (StageCosts costs : kCosts)
    for (uint32_t p = 1; p <= 9; ++p)
      for (uint32_t m = 2 * p; m <= 4 * p; ++m) {
        Schedule schedule = make(ScheduleKind::ZeroBubbleH2, {p, 1, m});
        double bubble = (p - 1) * (costs.forward + costs.inputGrad - 2 * costs.weightGrad);
        EXPECT_NEAR(timesOf(schedule, costs).longestSpan(), m * (costs.forward + costs.backward()) + bubble, kTolerance)
            << p << " " << m << " " << costs.weightGrad;
      }
}

TEST(BubbleFormulas, MemoryOfZeroBubbleH1AndH2) {
  for (double share : {0.25, 0.5})
    for (uint32_t p = 1; p <= 9; ++p)
      for (uint32_t m = 2 * p; m <= 4 * p; ++m) {
        HeldShares shares{.forward = 1, .weightGrad = share};
        std::vector<double> h1 = peakHeld(make(ScheduleKind::ZeroBubbleH1, {p, 1, m}), shares);
        std::vector<double> h2 = peakHeld(make(ScheduleKind::ZeroBubbleH2, {p, 1, m}), shares);
        for (uint32_t i = 1; i <= p; ++i) {
          EXPECT_NEAR(h1[i - 1], (p - i + 1) + (i - 1) * share, kTolerance) << p << " " << m << " " << i;
          EXPECT_NEAR(h2[i - 1], (2 * p - 2 * i + 1) + (2 * i - 2) * share, kTolerance) << p << " " << m << " " << i;
        }
      }
}

// With m <= p, 1f1b takes (m + p - 1) (F + B + W) and zero bubble (m + p - 1) (F + B) + W (2401.10241).
TEST(BubbleFormulas, ZeroBubbleWithFewMicroBatches) {
  for (StageCosts costs : kCosts)
    for (uint32_t p = 1; p <= 9; ++p)
      for (uint32_t m = 1; m <= p; ++m)
        EXPECT_NEAR(timesOf(make(ScheduleKind::ZeroBubbleH1, {p, 1, m}), costs).makespan,
                    (m + p - 1) * (costs.forward + costs.inputGrad) + costs.weightGrad, kTolerance)
            << p << " " << m;
}

// Without bubbles if F = I = W, and no more memory than 1f1b: 2 p chunks of half a stage (sail-sg README).
TEST(BubbleFormulas, ZeroBubbleV) {
  for (uint32_t p = 1; p <= 9; ++p)
    for (uint32_t m = 2 * p - 1; m <= 4 * p; ++m) {
      Schedule schedule = make(ScheduleKind::ZeroBubbleV, {p, 2, m});
      EXPECT_NEAR(timesOf(schedule, {0.5, 0.5, 0.5}).longestSpan(), 3.0 * m, kTolerance) << p << " " << m;
      for (double peak : peakHeld(schedule))
        EXPECT_EQ(peak, 2 * p);
    }
}

// DeepSeek-V3 2412.19437, table 2: (p/2 - 1) (F&B + B - 3 W), at most p + 1 micro-batches; B is a full backward.
TEST(BubbleFormulas, DualPipe) {
  for (uint32_t p = 2; p <= 10; p += 2)
    for (uint32_t m = 2 * p; m <= 4 * p; m += 2) {
      Schedule schedule = make(ScheduleKind::DualPipe, {p, 1, m});
      ScheduleTimes times = timesOf(schedule, {1, 1, 1});
      for (uint32_t rank = 0; rank < p; ++rank)
        EXPECT_NEAR(times.bubble(rank), (p / 2 - 1) * (3 + 2 - 3), kTolerance) << p << " " << m;
      for (double peak : peakHeld(schedule))
        EXPECT_EQ(peak, p + 1) << p << " " << m;
    }
}

// The same on half the ranks (DualPipe README).
TEST(BubbleFormulas, DualPipeV) {
  for (uint32_t p = 1; p <= 5; ++p)
    for (uint32_t m = 2 * p; m <= 4 * p; ++m) {
      Schedule schedule = make(ScheduleKind::DualPipeV, {p, 2, m});
      ScheduleTimes times = timesOf(schedule, {1, 1, 1});
      for (uint32_t rank = 0; rank < p; ++rank)
        EXPECT_NEAR(times.bubble(rank), (p - 1) * (3 + 2 - 3), kTolerance) << p << " " << m;
      for (double peak : peakHeld(schedule))
        EXPECT_EQ(peak, 2 * p + 1) << p << " " << m;
    }
}

struct MeasuredRow {
  uint32_t p, m;
  StageCosts costs;
  double send;
  uint32_t chunks;
  double oneForwardOneBackward, interleaved, h1, h2;
};

// Qi et al. 2401.10241: times of table 6 and bubble rates of table 5. Interleaved has one layer per chunk.
constexpr MeasuredRow kTable5[] = {
    {8, 24, {18.522, 18.086, 9.337}, 0.601, 3, 0.2431, 0.1055, 0.1585, 0.1083},
    {8, 32, {18.513, 18.086, 9.331}, 0.626, 3, 0.1985, 0.0818, 0.1242, 0.0837},
    {8, 64, {18.546, 18.097, 9.321}, 0.762, 3, 0.1240, 0.0443, 0.0674, 0.0444},
    {8, 24, {29.718, 29.444, 19.927}, 0.527, 4, 0.2347, 0.0808, 0.1323, 0.0698},
    {8, 32, {29.802, 29.428, 19.53}, 0.577, 4, 0.1898, 0.0628, 0.1045, 0.0559},
    {8, 64, {29.935, 29.621, 19.388}, 0.535, 4, 0.1091, 0.0320, 0.0554, 0.0294},
    {16, 48, {11.347, 11.248, 8.132}, 0.377, 3, 0.2552, 0.1104, 0.1397, 0.0672},
    {16, 64, {11.307, 11.254, 8.101}, 0.379, 3, 0.2082, 0.0852, 0.1088, 0.0516},
    {16, 128, {11.325, 11.308, 8.109}, 0.378, 3, 0.1251, 0.0445, 0.0576, 0.0266},
    {32, 96, {10.419, 10.207, 7.715}, 0.408, 2, 0.2646, 0.1493, 0.1421, 0.0641},
    {32, 128, {10.408, 10.204, 7.703}, 0.408, 2, 0.2168, 0.1164, 0.1106, 0.0490},
    {32, 256, {10.402, 10.248, 7.698}, 0.46, 2, 0.1352, 0.0624, 0.0594, 0.0257},
};

double bubbleRate(const MeasuredRow &row, ScheduleKind kind, uint32_t chunks = 1) {
  StageCosts costs{row.costs.forward / chunks, row.costs.inputGrad / chunks, row.costs.weightGrad / chunks};
  double span = timesOf(make(kind, {row.p, chunks, row.m}), costs, row.send).longestSpan();
  return (span - row.m * (row.costs.forward + row.costs.backward())) / span;
}

TEST(BubbleFormulas, RatesOfTheZeroBubblePaper) {
  auto fourDigits = [](double rate) { return std::round(rate * 1e4) / 1e4; };
  for (const MeasuredRow &row : kTable5) {
    SCOPED_TRACE(testing::Message() << "p = " << row.p << ", m = " << row.m);
    EXPECT_DOUBLE_EQ(fourDigits(bubbleRate(row, ScheduleKind::OneForwardOneBackward)), row.oneForwardOneBackward);
    EXPECT_DOUBLE_EQ(fourDigits(bubbleRate(row, ScheduleKind::ZeroBubbleH1)), row.h1);
    EXPECT_DOUBLE_EQ(fourDigits(bubbleRate(row, ScheduleKind::ZeroBubbleH2)), row.h2);
    // The paper counts fewer hops of messages than a step has.
    EXPECT_NEAR(bubbleRate(row, ScheduleKind::Interleaved, row.chunks), row.interleaved, 0.004);
  }
}

} // namespace
