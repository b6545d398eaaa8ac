//===- ProgressTest.cpp - how far the writing of many bytes is --------------===//

#include "stg/Support/Progress.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

TEST(Progress, BytesHaveThreeFiguresAtMost) {
  EXPECT_EQ(bytesText(0), "0 bytes");
  EXPECT_EQ(bytesText(999), "999 bytes");
  EXPECT_EQ(bytesText(1000), "1.0 kB");
  EXPECT_EQ(bytesText(9'949'999), "9.9 MB");
  EXPECT_EQ(bytesText(11'800'000'000), "12 GB");
  EXPECT_EQ(bytesText(999'600'000), "1.0 GB");
  EXPECT_EQ(bytesText(UINT64_MAX), "18447 PB");
}

TEST(Progress, RateAndTimeLeft) {
  EXPECT_EQ(progressText("writing out", 2'000'000'000, 6'000'000'000, 4),
            "writing out: 2.0 GB of 6.0 GB, 500 MB/s, 8 s left");
  EXPECT_EQ(progressText("writing out", 1'000'000, 601'000'000, 1),
            "writing out: 1.0 MB of 601 MB, 1.0 MB/s, 10 min left");
  EXPECT_EQ(progressText("writing out", 2'000'000'000, 0, 4), "writing out: 2.0 GB, 500 MB/s");
  EXPECT_EQ(progressText("writing out", 5'000, 5'000, 1), "writing out: 5.0 kB of 5.0 kB, 5.0 kB/s");
}

} // namespace
