//===- EtOptions.h - the command line of stg-et -----------------------------===//
#pragma once

#include "stg/Chakra/EtCommands.h"
#include "stg/Chakra/ExtractBundle.h"

namespace stg {

enum class EtCommand { Dump, Stats, Verify, Diff, Extract };

struct EtOptions {
  EtCommand command;
  DumpOptions dump;
  StatsOptions stats;
  VerifyOptions verify;
  DiffOptions diff;
  ExtractOptions extract;
};

/// None if the command line is wrong (which has then been said). Exits for --help and --version.
std::optional<EtOptions> parseEtOptions(int argc, char **argv);

} // namespace stg
