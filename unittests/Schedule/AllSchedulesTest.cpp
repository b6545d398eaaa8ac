//===- AllSchedulesTest.cpp - every schedule for every size that it takes --------===//

#include "Schedule/ScheduleCases.h"
#include "stg/IR/ScheduleText.h"
#include "stg/Schedule/CheckSchedule.h"
#include "stg/Schedule/SimulateSchedule.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

class AllSchedules : public testing::TestWithParam<ScheduleKind> {
protected:
  /// Calls `visit` with each schedule of up to `ranks` ranks and `microBatches`.
  template <class Visit> void forEach(uint32_t ranks, uint32_t microBatches, Visit visit) {
    std::vector<uint32_t> chunkNumbers = {1, 2, 3, 4};
    if (std::optional<uint32_t> fixed = fixedChunks(GetParam()))
      chunkNumbers = {*fixed};
    for (uint32_t p = 1; p <= ranks; ++p)
      for (uint32_t v : chunkNumbers)
        for (uint32_t m = 1; m <= microBatches; ++m) {
          auto made = makeSchedule(GetParam(), {p, v, m});
          if (auto *schedule = std::get_if<Schedule>(&made))
            visit(*schedule, "p = " + std::to_string(p) + ", v = " + std::to_string(v) + ", m = " + std::to_string(m));
        }
  }
};

TEST_P(AllSchedules, AreAccepted) {
  int count = 0;
  forEach(16, 64, [&](const Schedule &schedule, const std::string &sizes) {
    ++count;
    std::vector<ScheduleFault> faults = checkSchedule(schedule);
    ASSERT_TRUE(faults.empty()) << sizes << ": " << textOf(faults[0], schedule.placement);
  });
  EXPECT_GT(count, 50);
}

TEST_P(AllSchedules, RunToTheirEnds) {
  forEach(9, 40, [&](const Schedule &schedule, const std::string &sizes) {
    auto times = simulateSchedule(schedule, uniformCosts(schedule.placement.stages, {1, 1.25, 0.5}, 0.25));
    ASSERT_TRUE(times) << sizes;
    double work = 2.75 * schedule.placement.microBatches * schedule.placement.stages / schedule.placement.ranks;
    for (const RankTimes &rank : times->ranks)
      ASSERT_DOUBLE_EQ(rank.busy, work) << sizes;
    ASSERT_GE(times->makespan, work) << sizes;
  });
}

TEST_P(AllSchedules, ReadBackAsPrinted) {
  forEach(6, 16, [&](const Schedule &schedule, const std::string &sizes) {
    auto read = readSchedule(textOf(schedule), schedule.placement);
    ASSERT_TRUE(std::holds_alternative<Schedule>(read)) << sizes;
    ASSERT_EQ(std::get<Schedule>(read), schedule) << sizes;
    if (schedule.placement.copies.size() > 1)
      return; // PyTorch's CSV has one copy of the model
    auto csv = readScheduleCsv(csvOf(schedule));
    ASSERT_TRUE(std::holds_alternative<CsvSchedule>(csv)) << sizes;
    ASSERT_EQ(std::get<CsvSchedule>(csv).schedule, schedule) << sizes;
  });
}

std::string identifierOf(const testing::TestParamInfo<ScheduleKind> &info) { return nameOf(info.param).str(); }

INSTANTIATE_TEST_SUITE_P(Kinds, AllSchedules, testing::ValuesIn(kScheduleKinds), identifierOf);

} // namespace
