//===- MemorySvgTest.cpp - the chart of memory over a step -------------------===//
#include "stg/Driver/MemorySvg.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

MemoryChart::Point point(std::string action, int64_t activations, int64_t most) {
  MemoryChart::Point made{std::move(action), "u", {}, most};
  made.alive[MemoryKind::Parameters] = 100;
  made.alive[MemoryKind::Activations] = activations;
  return made;
}

MemoryChart chart() {
  MemoryChart result;
  result.title = "a < b & \"c\"";
  result.points = {point("0F0", 50, 150), point("0F0", 100, 260), point("0B0", 0, 300)};
  return result;
}

TEST(MemorySvg, StacksWhatOccursAndMarksThePeak) {
  std::string svg = svgOf(chart());
  llvm::StringRef text = svg;
  EXPECT_TRUE(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
  EXPECT_TRUE(text.contains("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_TRUE(text.contains("<title>parameters</title>") && text.contains("<title>activations</title>"));
  EXPECT_FALSE(text.contains("<title>optimizer</title>"));
  EXPECT_TRUE(text.contains("<title>0B0 u: 300 B</title>"));
  // An action is named where it begins.
  EXPECT_EQ(text.count(">0F0</text>"), 1u);
  EXPECT_EQ(text.count(">0B0</text>"), 1u);
  // Columns of 300 pixels: activations stand on 100 of 315 bytes, of 320 pixels.
  EXPECT_TRUE(text.contains("points=\"84.00,243.62 384.00,243.62 384.00,192.83 684.00,192.83"));
}

TEST(MemorySvg, DrawsTheLimitAboveAll) {
  MemoryChart limited = chart();
  limited.limit = 1000;
  limited.limitText = "1kB";
  llvm::StringRef without = "stroke-dasharray";
  EXPECT_EQ(llvm::StringRef(svgOf(chart())).count(without), 0u);
  std::string svg = svgOf(limited);
  EXPECT_EQ(llvm::StringRef(svg).count(without), 1u);
  EXPECT_TRUE(llvm::StringRef(svg).contains(">1kB</text>"));
}

TEST(MemorySvg, DrawsManyPointsAsFewColumns) {
  MemoryChart many;
  for (int i = 0; i < 100'000; ++i)
    many.points.push_back(point("F" + std::to_string(i / 10), 1, i == 77'777 ? 900 : 200));
  std::string svg = svgOf(many);
  EXPECT_LT(svg.size(), size_t{2'000'000});
  EXPECT_TRUE(llvm::StringRef(svg).contains("<title>F7777 u: 900 B</title>")); // the highest is not lost
}

TEST(MemorySvg, HasAChartForEachWorkload) {
  MemoryChart charts[] = {chart(), MemoryChart()};
  llvm::StringRef one = "most while a unit runs";
  EXPECT_EQ(llvm::StringRef(svgOf(charts)).count(one), 2u);
}

} // namespace
