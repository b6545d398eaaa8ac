//===- MemorySvg.h - the chart of memory over a step ------------------------===//
// Time to the right, a column per unit of an action (of equal width: it is the order that counts), bytes upwards,
// stacked by category: what stands still below, then what comes and goes. Areas are what is alive behind the unit; the
// line above them is the most that was alive while it ran.
//
// Cost    linear in the points; of many, neighbours are drawn as one. Deterministic: coordinates have two decimals.
// Tests   unittests/Driver/MemorySvgTest
//===----------------------------------------------------------------------===//
#ifndef STG_DRIVER_MEMORYSVG_H
#define STG_DRIVER_MEMORYSVG_H

#include "stg/Analysis/Memory.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace stg {

struct MemoryChart {
  struct Point {
    std::string action, unit; ///< `0F3`, `blocks[7]`
    MemoryBytes alive;
    int64_t most = 0; ///< bytes
  };
  std::string title, subtitle;
  std::vector<Point> points;
  /// The memory of a rank in bytes, 0: unknown; and how it is called.
  int64_t limit = 0;
  std::string limitText;
};

/// An SVG of its own with the charts one below the other.
std::string svgOf(llvm::ArrayRef<MemoryChart> charts);

} // namespace stg

#endif
