//===- OptOptions.h - the command line of stg-opt ---------------------------===//
#pragma once

#include "stg/Passes/PassManager.h"

namespace stg {

enum class OptCommand { Run, VerifyOnly, ListPasses, Kernels, Interpret, CompareRanks };

struct OptOptions {
  OptCommand command = OptCommand::Run;
  std::string input;
  std::vector<PassId> passes;
  uint64_t seed = 0; ///< Interpret, CompareRanks: of the inputs
  bool printOpVisits = false;
  bool printTimes = false;
};

/// None if the command line is wrong (which has then been said). Exits for --help and --version.
std::optional<OptOptions> parseOptOptions(int argc, char **argv);

} // namespace stg
