//===- RooflineTest.cpp - times by hand ------------------------------------===//

#include "stg/Analysis/Roofline.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

constexpr Machine kMachine{.peakTflops = 100, .memoryGbps = 1000};

TEST(Roofline, IsTheSlowerOfTheTwoRoofs) {
  // 10^12 operations at 10^14/s are 10 ms; 10^9 bytes at 10^12/s are 1 ms,
  // less what is lost on the way through the intensity: the readers lose it too.
  EXPECT_EQ(rooflineNanoseconds(1'000'000'000'000, 1'000'000'000, kMachine), 10'000'000u);
  EXPECT_EQ(rooflineNanoseconds(1, 1'000'000'000, kMachine), 999'999u);
}

TEST(Roofline, IsCutToWholeNanoseconds) {
  EXPECT_EQ(rooflineNanoseconds(1, 1999, kMachine), 1u);
  EXPECT_EQ(rooflineNanoseconds(1, 999, kMachine), 0u);
}

TEST(Roofline, HasNoTimeForNodesThatReadersCannotTime) {
  EXPECT_EQ(rooflineNanoseconds(0, 10, kMachine), std::nullopt);
  EXPECT_EQ(rooflineNanoseconds(10, 0, kMachine), 0u);
}

} // namespace
