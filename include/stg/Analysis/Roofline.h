//===- Roofline.h - time of a kernel on a machine --------------------------===//
// The model of ASTRA-sim's `roofline-enabled`, to the nanosecond: the same
// operations in the same order in double, then cut to a whole number. So the sum
// over a rank's compute nodes is the cycle count of a rank that only computes.
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace stg {

struct Machine {
  /// `peak-perf` of a system file, in TFLOP/s (10^12).
  double peakTflops;
  /// `local-mem-bw` of a system file, in GB/s (10^9 bytes).
  double memoryGbps;
};

/// Nanoseconds of a kernel. None where the reader's arithmetic has no answer: no operations (0/0), or a time beyond
/// 2^63. No bytes means that the reader skips the node: 0.
inline std::optional<uint64_t> rooflineNanoseconds(uint64_t flops, uint64_t bytes, const Machine &machine) {
  if (bytes == 0)
    return 0;
  if (flops == 0)
    return std::nullopt;
  double operations = static_cast<double>(flops);
  double intensity = operations / static_cast<double>(bytes);
  double perf = std::min(machine.memoryGbps * 1e9 * intensity, machine.peakTflops * 1e12);
  double nanoseconds = operations / perf * 1e9;
  constexpr double kLimit = 9.2e18;
  if (!(nanoseconds < kLimit))
    return std::nullopt;
  return static_cast<uint64_t>(nanoseconds);
}

} // namespace stg
