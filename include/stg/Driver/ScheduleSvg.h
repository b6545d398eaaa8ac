//===- ScheduleSvg.h - the chart of a schedule ------------------------------===//
// The chart of publications: a row per rank, time to the right, a box per action with the number of its micro-batch,
// coloured by what it does. Chunks of a rank, and the two copies of DualPipe, have lighter shades from one to the next.
// The halves of an overlapped pair lie one above the other.
//
// Cost    linear in the actions. Deterministic: coordinates have two decimals.
// Tests   unittests/Driver/ScheduleSvgTest
//===----------------------------------------------------------------------===//
#ifndef STG_DRIVER_SCHEDULESVG_H
#define STG_DRIVER_SCHEDULESVG_H

#include "stg/Schedule/SimulateSchedule.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace stg {

/// How times are shown: as multiples of one unit, which has no name where costs have none.
struct TimeScale {
  double unit = 1;
  const char *name = "";
  int decimals = 0;

  /// `12.345`.
  std::string number(double time) const;
  /// `12.345 ms`.
  std::string text(double time) const;
};

struct ScheduleChart {
  std::string title, subtitle;
  Schedule schedule;
  ScheduleTimes times;
  TimeScale scale;
};

/// An SVG of its own with the charts one below the other.
std::string svgOf(llvm::ArrayRef<ScheduleChart> charts);

} // namespace stg

#endif
