//===- CheckScheduleTest.cpp - planted faults are found and named -----------------===//

#include "stg/Schedule/CheckSchedule.h"
#include "Schedule/ScheduleCases.h"
#include "stg/IR/ScheduleText.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace stg;
using testing::ElementsAre;

namespace {

std::vector<std::string> faultsOf(const Schedule &schedule) {
  std::vector<std::string> texts;
  for (const ScheduleFault &fault : checkSchedule(schedule))
    texts.push_back(textOf(fault, schedule.placement));
  return texts;
}

/// A schedule of two ranks with a stage each and two micro-batches, from the lists of both.
Schedule ofTwo(llvm::StringRef first, llvm::StringRef second) {
  auto read = readSchedule("0: " + first.str() + "\n1: " + second.str(), loopPlacement(2, 1, 2));
  if (auto *error = std::get_if<ScheduleTextError>(&read))
    ADD_FAILURE() << textOf(*error);
  return std::get<Schedule>(read);
}

constexpr llvm::StringRef kFirst = "0F0 0F1 0I0 0W0 0I1 0W1";
constexpr llvm::StringRef kSecond = "1F0 1I0 1F1 1I1 1W0 1W1";

TEST(CheckSchedule, IsSilentOnASchedule) {
  EXPECT_THAT(faultsOf(ofTwo(kFirst, kSecond)), ElementsAre());
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0B0 0B1", kSecond)), ElementsAre());
}

TEST(CheckSchedule, FindsWhatIsMissing) {
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0I0 0W0 0I1", kSecond)), ElementsAre("rank 0: 0W1 is missing"));
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0I0 0W0", kSecond)), ElementsAre("rank 0: 0B1 is missing"));
  EXPECT_THAT(faultsOf(ofTwo(kFirst, "1F0 1I0 1F1 1W0")), ElementsAre("rank 1: 1B1 is missing"));
}

TEST(CheckSchedule, FindsABackwardBeforeItsForward) {
  EXPECT_THAT(faultsOf(ofTwo(kFirst, "1F0 1I0 1I1 1F1 1W0 1W1")), ElementsAre("rank 1, slot 2: 1I1 stands before 1F1"));
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0W0 0I0 0I1 0W1", kSecond)),
              ElementsAre("rank 0, slot 2: 0W0 stands before 0I0"));
}

TEST(CheckSchedule, FindsAMicroBatchDoneTwice) {
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0F1 0I0 0W0 0I1 0W1", kSecond)),
              ElementsAre("rank 0, slot 2: 0F1 is done twice"));
  // A full backward has done the weight gradient already.
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0B0 0W0 0I1 0W1", kSecond)), ElementsAre("rank 0, slot 3: 0W0 is done twice"));
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0I0 0W0 0B0 0I1 0W1", kSecond)),
              ElementsAre("rank 0, slot 4: 0B0 is done twice"));
}

TEST(CheckSchedule, FindsTwoRanksThatDisagreeOnAnOrder) {
  EXPECT_THAT(faultsOf(ofTwo(kFirst, "1F1 1F0 1I0 1I1 1W0 1W1")),
              ElementsAre("rank 1, slot 0: 1F1 where the other end has 0F0"));
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0I1 0W1 0I0 0W0", kSecond)),
              ElementsAre("rank 0, slot 2: 0I1 where the other end has 1I0"));
}

TEST(CheckSchedule, FindsRanksThatWaitForEachOther) {
  EXPECT_THAT(faultsOf(ofTwo("0F0 0I0 0W0 0F1 0I1 0W1", "1F0 1F1 1I0 1I1 1W0 1W1")),
              ElementsAre("rank 0, slot 1: 0I0 waits for 1I0 for ever", "rank 1, slot 1: 1F1 waits for 0F1 for ever"));
}

TEST(CheckSchedule, FindsWorkOnTheWrongRank) {
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 0I0 0W0 0I1 1W1", "1F0 1I0 1F1 1I1 1W0 0W1")),
              ElementsAre("rank 0, slot 5: 1W1 belongs to rank 1", "rank 1, slot 5: 0W1 belongs to rank 0"));
}

TEST(CheckSchedule, FindsWhatDoesNotExist) {
  Schedule schedule = ofTwo(kFirst, kSecond);
  schedule.ranks[1].push_back({{ActionKind::Forward, 2, 0}});
  EXPECT_THAT(faultsOf(schedule), ElementsAre("rank 1, slot 6: 2F0 has no stage or micro-batch of 2 and 2"));
}

TEST(CheckSchedule, FindsPairsThatCannotOverlap) {
  EXPECT_THAT(faultsOf(ofTwo("0F0 0F1 (0I0&0W0) 0I1 0W1", kSecond)),
              ElementsAre("rank 0, slot 2: 0I0 and 0W0 cannot overlap: a pair is a forward and a backward of two "
                          "micro-batches"));
  EXPECT_THAT(faultsOf(ofTwo(kFirst, "(1F0&1I0) 1F1 1I1 1W0 1W1")),
              ElementsAre("rank 1, slot 0: 1F0 and 1I0 cannot overlap: a pair is a forward and a backward of two "
                          "micro-batches"));
  EXPECT_THAT(faultsOf(ofTwo(kFirst, "1F0 (1F1&1B0) 1B1")), ElementsAre());
}

// A pair starts when both halves can, so halves that wait for each other across ranks never do.
TEST(CheckSchedule, RunsAPairAsOne) {
  EXPECT_THAT(faultsOf(ofTwo("0F0 (0F1&0B0) 0B1", "1F0 1F1 1B0 1B1")),
              ElementsAre("rank 0, slot 1: 0B0 waits for 1B0 for ever", "rank 1, slot 1: 1F1 waits for 0F1 for ever"));
}

TEST(CheckSchedule, NamesDirectionsOfDualPipe) {
  Schedule schedule = test::make(ScheduleKind::DualPipe, {4, 1, 8});
  schedule.ranks[3].pop_back();
  EXPECT_THAT(faultsOf(schedule), ElementsAre("rank 3: 1W3 is missing"));
}

TEST(CheckSchedule, FindsEveryActionThatIsLeftOut) {
  for (ScheduleKind kind : kScheduleKinds) {
    Schedule schedule = test::make(kind, test::sizesOf(kind, 2, 4));
    for (size_t rank = 0; rank < 2; ++rank)
      for (size_t position = 0; position < schedule.ranks[rank].size(); ++position) {
        Schedule faulty = schedule;
        faulty.ranks[rank].erase(faulty.ranks[rank].begin() + static_cast<ptrdiff_t>(position));
        EXPECT_FALSE(checkSchedule(faulty).empty()) << nameOf(kind).str() << ", rank " << rank << ", " << position;
      }
  }
}

} // namespace
