//===- EtCommands.h - what stg-et does -------------------------------------===//
// dump, stats, verify and diff over trace sets of any producer. Each command reads
// its files, prints its result on `out` and what is wrong with the command's input
// as diagnostics; the exit status says which of the two it was.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Support/Diagnostics.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/NodeText.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

struct DumpOptions {
  std::vector<std::string> inputs;
  ShowKinds kinds = ShowKinds::No;
};
/// Prints metadata and nodes of each file, a line each; a file that ends badly gives a diagnostic.
ExitStatus dumpTraces(const DumpOptions &options, llvm::raw_ostream &out, Diagnostics &diags);

enum class StatsFormat : uint8_t { Text, Json };
struct StatsOptions {
  std::vector<std::string> inputs;
  std::optional<Machine> machine;
  StatsFormat format = StatsFormat::Text;
};
/// Prints counts and sums over all files and, with a machine, each rank's sum of rooflines.
ExitStatus printTraceStats(const StatsOptions &options, llvm::raw_ostream &out, Diagnostics &diags);

struct VerifyOptions {
  std::vector<std::string> inputs;
  /// A group file elsewhere than in the directory.
  std::string groupFile;
  TraceTarget target = TraceTarget::AstraSim;
  std::optional<Machine> machine;
  /// How many findings of each kind are reported.
  size_t keep = 5;
};
/// Checks the files, as a whole set if a directory is among the inputs; prints one line if nothing is wrong.
ExitStatus verifyTraces(const VerifyOptions &options, llvm::raw_ostream &out, Diagnostics &diags);

struct DiffOptions {
  std::string left, right;
};
/// Compares two files or two sets, node by node as text; prints whether they agree, or the first difference. InputWrong
/// if they differ.
ExitStatus diffTraces(const DiffOptions &options, llvm::raw_ostream &out, Diagnostics &diags);

} // namespace stg
