//===- ScheduleCsvTest.cpp - schedules as PyTorch writes them --------------------------===//

#include "Schedule/ScheduleCases.h"
#include "stg/IR/ScheduleText.h"
#include "stg/Schedule/CheckSchedule.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

std::string errorOf(llvm::StringRef text) {
  auto read = readScheduleCsv(text);
  auto *error = std::get_if<ScheduleTextError>(&read);
  return error ? textOf(*error) : "read";
}

// pytorch/pytorch 15380b18 test/distributed/pipelining/artifacts/zb1p_2rank_2stagep_compute.csv, word for word: B is an
// input gradient, an empty cell an idle slot.
constexpr llvm::StringRef kZeroBubble =
    "0F0,0F1,2F0,,2F1,2B0,2W0,0F2,2B1,2W1,0F3,0B0,0W0,2F2,0B1,0W1,2F3,2B2,2W2,0F4,2B3,2W3,0F5,0B2,0W2,2F4,0B3,"
    "0W3,2F5,2B4,2W4,0F6,2B5,2W5,0F7,0B4,0W4,2F6,0B5,0W5,2F7,2B6,2W6,2B7,2W7,0B6,0W6,0B7,0W7\n"
    ",1F0,1F1,3F0,3B0,3F1,3B1,3W0,1F2,1B0,3W1,1F3,1B1,1W0,3F2,3B2,1W1,3F3,3B3,3W2,1F4,1B2,3W3,1F5,1B3,1W2,3F4,"
    "3B4,1W3,3F5,3B5,3W4,1F6,1B4,3W5,1F7,1B5,1W4,3F6,3B6,1W5,3F7,3B7,3W6,1B6,3W7,1B7,1W6,1W7\n";

TEST(ScheduleCsv, ReadsPyTorchsOwnFile) {
  auto read = readScheduleCsv(kZeroBubble);
  ASSERT_TRUE(std::holds_alternative<CsvSchedule>(read)) << errorOf(kZeroBubble);
  const Schedule &schedule = std::get<CsvSchedule>(read).schedule;
  EXPECT_EQ(schedule.placement, loopPlacement(2, 2, 8));
  EXPECT_TRUE(checkSchedule(schedule).empty());
  EXPECT_EQ(schedule, test::make(ScheduleKind::InterleavedZeroBubble, {2, 2, 8}));
}

TEST(ScheduleCsv, FindsThePlacementInTheRows) {
  auto read = readScheduleCsv("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  ASSERT_TRUE(std::holds_alternative<CsvSchedule>(read));
  EXPECT_EQ(std::get<CsvSchedule>(read).schedule.placement, vPlacement(2, 1));
  EXPECT_TRUE(checkSchedule(std::get<CsvSchedule>(read).schedule).empty());
}

TEST(ScheduleCsv, ReadsAndWritesOverlappedPairs) {
  llvm::StringRef text = "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0I1,0W1,0B2\n";
  auto read = readScheduleCsv(text);
  ASSERT_TRUE(std::holds_alternative<CsvSchedule>(read)) << errorOf(text);
  const Schedule &schedule = std::get<CsvSchedule>(read).schedule;
  EXPECT_EQ(textOf(schedule), "0: 0F0 0F1 (0F2&0B0) 0I1 0W1 0B2\n");
  EXPECT_EQ(csvOf(schedule), text);
}

// Format "compute_comms": what is not compute is derived anew, and counted.
TEST(ScheduleCsv, CountsWhatItDoesNotRead) {
  auto read =
      readScheduleCsv("0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\r\n1RECV_F0,1F0,1B0,1SEND_B0\r\n\r\n");
  ASSERT_TRUE(std::holds_alternative<CsvSchedule>(read));
  EXPECT_EQ(std::get<CsvSchedule>(read).skipped, 7u);
  EXPECT_EQ(textOf(std::get<CsvSchedule>(read).schedule), "0: 0F0 0B0\n1: 1F0 1B0\n");
}

TEST(ScheduleCsv, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(errorOf(""), "line 1, column 1: the file has no actions");
  EXPECT_EQ(errorOf("0F0,0B0\n,,\n1F0,1B0\n"), "line 2, column 1: ,, has no actions");
  EXPECT_EQ(errorOf("0F0,0B0\n1F0, 1Z0\n"), "line 2, column 6: 1Z0 names no action; those are F, B, I and W");
  EXPECT_EQ(errorOf("0F0,0B0\n0F1,0B1\n"), "line 2, column 1: 0F1 names a stage of another rank");
  EXPECT_EQ(errorOf("0F0,0B0\n2F0,2B0\n"),
            "line 1, column 1: 1 is a stage that no rank has, though there are later ones");
  EXPECT_EQ(errorOf("0F0,(0F1;0B0)\n"), "line 1, column 5: (0F1;0B0) is not an overlapped pair of two actions");
  EXPECT_EQ(errorOf("0F0,(0F1;0SEND_F0)OVERLAP_F_B\n"),
            "line 1, column 5: (0F1;0SEND_F0)OVERLAP_F_B is not an overlapped pair of two actions");
  EXPECT_EQ(errorOf("F0\n"), "line 1, column 1: F0 is not an action; an action is a stage, a letter and a micro-batch, "
                             "like 2F0");
}

} // namespace
