//===- MachineOption.h - a machine on a command line -------------------------===//
#ifndef STG_ANALYSIS_MACHINEOPTION_H
#define STG_ANALYSIS_MACHINEOPTION_H

#include "stg/Analysis/Roofline.h"
#include <string>
#include <variant>

namespace stg {

/// Of `--peak-tflops` and `--hbm-gbps`, each absent if not given: the machine, or none without both; else what is
/// wrong.
inline std::variant<std::optional<Machine>, std::string> machineOf(std::optional<double> peakTflops,
                                                                   std::optional<double> hbmGbps) {
  if (peakTflops.has_value() != hbmGbps.has_value())
    return "--peak-tflops and --hbm-gbps describe a machine together: give both";
  if (!peakTflops)
    return std::nullopt;
  if (!(*peakTflops > 0) || !(*hbmGbps > 0))
    return "--peak-tflops and --hbm-gbps must be greater than 0";
  return Machine{.peakTflops = *peakTflops, .memoryGbps = *hbmGbps};
}

} // namespace stg

#endif
