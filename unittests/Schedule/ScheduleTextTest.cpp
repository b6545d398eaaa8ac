//===- ScheduleTextTest.cpp - the notation of publications -----------------------------===//

#include "stg/IR/ScheduleText.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

const Placement kLoop = loopPlacement(2, 2, 8);

std::string errorOf(llvm::StringRef text) {
  auto read = readActions(text, 0, kLoop);
  auto *error = std::get_if<ScheduleTextError>(&read);
  return error ? textOf(*error) : "read";
}

TEST(ScheduleText, ReadsActionsAndPairs) {
  auto read = readActions("  2F0 2I0\t2W0 (0F7&2B3) ", 0, kLoop);
  ASSERT_TRUE(std::holds_alternative<ActionList>(read));
  EXPECT_EQ(std::get<ActionList>(read),
            (ActionList{{{ActionKind::Forward, 2, 0}},
                        {{ActionKind::InputGrad, 2, 0}},
                        {{ActionKind::WeightGrad, 2, 0}},
                        {{ActionKind::Forward, 0, 7}, Action{ActionKind::Backward, 2, 3}}}));
  EXPECT_EQ(textOf(std::get<ActionList>(read), kLoop), "2F0 2I0 2W0 (0F7&2B3)");
}

// With two copies the first number is the copy, so the stage follows from the rank.
TEST(ScheduleText, NumbersCopiesOfDualPipe) {
  Placement twoWay = twoWayPlacement(4, 8);
  auto read = readActions("(0F1&1B2)", 3, twoWay);
  ASSERT_TRUE(std::holds_alternative<ActionList>(read));
  EXPECT_EQ(std::get<ActionList>(read),
            (ActionList{{{ActionKind::Forward, 3, 1}, Action{ActionKind::Backward, 0, 6}}}));
  EXPECT_EQ(textOf(std::get<ActionList>(read), twoWay), "(0F1&1B2)");
  auto outside = readActions("2F0", 3, twoWay);
  EXPECT_EQ(std::get<ScheduleTextError>(outside).fault, ScheduleTextFault::NoSuchStage);
}

TEST(ScheduleText, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(errorOf("2F0 x"), "line 1, column 5: x is not an action; an action is a stage, a letter and a micro-batch, "
                              "like 2F0");
  EXPECT_EQ(errorOf("2F0a"),
            "line 1, column 1: 2F0a is not an action; an action is a stage, a letter and a micro-batch, "
            "like 2F0");
  EXPECT_EQ(errorOf("2G0"), "line 1, column 1: 2G0 names no action; those are F, B, I and W");
  EXPECT_EQ(errorOf("2F"), "line 1, column 1: 2F has no micro-batch");
  EXPECT_EQ(errorOf("9999999999F0"), "line 1, column 1: 9999999999F0 has a number that is too large");
  EXPECT_EQ(errorOf("4F0"), "line 1, column 1: 4F0 names a stage that does not exist");
  EXPECT_EQ(errorOf("0F8"), "line 1, column 1: 0F8 names a micro-batch that does not exist");
  EXPECT_EQ(errorOf("0F0 (0F1&"), "line 1, column 5: (0F1& is not an overlapped pair of two actions");
  EXPECT_EQ(errorOf("(0F1&2B0&2B1)"), "line 1, column 1: (0F1&2B0&2B1) is not an overlapped pair of two actions");
  EXPECT_EQ(errorOf("("), "line 1, column 1: ( is not an overlapped pair of two actions");
  EXPECT_EQ(errorOf("(0F1&2Q0)"), "line 1, column 6: 2Q0 names no action; those are F, B, I and W");
}

TEST(ScheduleText, ReadsALinePerRank) {
  auto errorOfRows = [](llvm::StringRef text) {
    auto read = readSchedule(text, kLoop);
    auto *error = std::get_if<ScheduleTextError>(&read);
    return error ? textOf(*error) : "read";
  };
  EXPECT_EQ(errorOfRows("0: 0F0\n\n1: 1F0\n"), "read");
  EXPECT_EQ(errorOfRows("0: 0F0\n2: 1F0\n"), "line 2, column 1: 2: 1F0 does not begin with the next rank and a colon");
  EXPECT_EQ(errorOfRows("0: 0F0\n1: 1F0 1X0\n"), "line 2, column 8: 1X0 names no action; those are F, B, I and W");
  EXPECT_EQ(errorOfRows("0: 0F0\n"), "line 1, column 1: 1 rows do not make one for each rank");
  EXPECT_EQ(errorOfRows("0: 0F0\n1: 1F0\n2: 2F0\n"), "line 3, column 1: 2: 2F0 rows do not make one for each rank");
}

} // namespace
