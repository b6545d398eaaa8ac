//===- ScheduleSvgTest.cpp - the chart of a schedule -------------------------===//
#include "stg/Driver/ScheduleSvg.h"
#include "stg/Driver/Explain.h"
#include "stg/Schedule/MakeSchedule.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

ScheduleChart chart(ScheduleKind kind, const ScheduleSizes &sizes, StageCosts costs = {}) {
  Schedule schedule = std::get<Schedule>(makeSchedule(kind, sizes));
  ScheduleTimes times = *simulateSchedule(schedule, uniformCosts(schedule.placement.stages, costs));
  return {.title = "a < b & \"c\"",
          .subtitle = {},
          .schedule = std::move(schedule),
          .times = std::move(times),
          .scale = {}};
}

size_t countOf(llvm::StringRef text, llvm::StringRef what) { return text.count(what); }

/// Boxes of actions are what has a title.
size_t boxes(llvm::StringRef svg) { return countOf(svg, "<title>"); }

/// Every element is closed in turn, and text has no bare `<` or `&`.
bool isWellFormed(llvm::StringRef svg) {
  std::vector<std::string> open;
  while (true) {
    size_t begin = svg.find('<');
    llvm::StringRef text = svg.take_front(begin);
    for (size_t at = text.find('&'); at != llvm::StringRef::npos; at = text.find('&', at + 1))
      if (text.find(';', at) == llvm::StringRef::npos)
        return false;
    if (begin == llvm::StringRef::npos)
      return open.empty();
    svg = svg.drop_front(begin + 1);
    size_t end = svg.find('>');
    if (end == llvm::StringRef::npos)
      return false;
    llvm::StringRef tag = svg.take_front(end);
    svg = svg.drop_front(end + 1);
    std::string name = tag.ltrim('/').take_until([](char c) { return c == ' ' || c == '/'; }).str();
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != name)
        return false;
      open.pop_back();
    } else if (tag.count('"') % 2 != 0 || tag.contains('<')) {
      return false;
    } else if (!tag.ends_with("/")) {
      open.push_back(name);
    }
  }
}

TEST(ScheduleSvg, HasABoxForEachActionAndLanesForRanks) {
  std::string svg = svgOf(chart(ScheduleKind::OneForwardOneBackward, {.ranks = 4, .microBatches = 8}));
  EXPECT_TRUE(isWellFormed(svg));
  EXPECT_EQ(boxes(svg), 4u * 8 * 2);
  // Background, legend of F and B, lanes, boxes.
  EXPECT_EQ(countOf(svg, "<rect"), 1u + 2 + 4 + 64);
  EXPECT_NE(svg.find("<title>0F0: 0 to 1</title>"), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
}

TEST(ScheduleSvg, HasWhatEachScheduleDoes) {
  for (ScheduleKind kind : kScheduleKinds) {
    SCOPED_TRACE(nameOf(kind).str());
    ScheduleSizes sizes{.ranks = 4, .chunks = fixedChunks(kind).value_or(2), .microBatches = 8};
    ScheduleChart one = chart(kind, sizes);
    size_t actions = 0;
    for (const ActionList &list : one.schedule.ranks)
      for (const Slot &slot : list)
        actions += slot.overlapped ? 2 : 1;
    std::string svg = svgOf(one);
    EXPECT_TRUE(isWellFormed(svg));
    EXPECT_EQ(boxes(svg), actions);
  }
}

TEST(ScheduleSvg, StacksTheHalvesOfAPair) {
  std::string svg = svgOf(chart(ScheduleKind::DualPipe, {.ranks = 2, .microBatches = 8}));
  EXPECT_NE(svg.find("halves: overlapped"), std::string::npos);
  EXPECT_NE(svg.find("the second copy"), std::string::npos);
  EXPECT_NE(svg.find("height=\"11.00\""), std::string::npos);
}

TEST(ScheduleSvg, LeavesOutWhatTakesNoTime) {
  ScheduleSizes sizes{.ranks = 2, .microBatches = 2};
  EXPECT_EQ(boxes(svgOf(chart(ScheduleKind::ZeroBubbleH1, sizes, {1, 1, 0}))), 2u * 2 * 2);
  std::string nothing = svgOf(chart(ScheduleKind::ZeroBubbleH1, sizes, {0, 0, 0}));
  EXPECT_EQ(boxes(nothing), 0u);
  EXPECT_TRUE(isWellFormed(nothing));
}

TEST(ScheduleSvg, DrawsSeveralChartsOneBelowTheOther) {
  ScheduleChart one = chart(ScheduleKind::GPipe, {.ranks = 2, .microBatches = 3});
  std::string svg = svgOf({one, one});
  EXPECT_TRUE(isWellFormed(svg));
  EXPECT_EQ(boxes(svg), 2u * 2 * 3 * 2);
  EXPECT_EQ(svg, svgOf({one, one}));
}

TEST(StageCosts, AreReadByTheirKeys) {
  auto read = [](llvm::StringRef text) { return std::get<StageCosts>(readStageCosts(text)); };
  StageCosts costs = read("F=2, W=0.5,comm=1e-1");
  EXPECT_EQ(costs.forward, 2);
  EXPECT_EQ(costs.inputGrad, 1);
  EXPECT_EQ(costs.weightGrad, 0.5);
  EXPECT_EQ(costs.sendOutput, 0.1);
  EXPECT_EQ(costs.sendGrad, 0.1);
  for (const char *bad : {"", "F", "F=", "B=2", "F=x", "F=-1", "F=nan", "F=inf", "F=1,F=2", "F=1,", "f=1"})
    EXPECT_TRUE(std::holds_alternative<std::string>(readStageCosts(bad))) << bad;
}

} // namespace
