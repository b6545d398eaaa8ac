//===- main.cpp - stg-et: look at execution traces --------------------------===//

#include "EtOptions.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Support/InternalError.h"

using namespace stg;

namespace {

ExitStatus run(const EtOptions &options, llvm::raw_ostream &out, Diagnostics &diags) {
  switch (options.command) {
  case EtCommand::Dump:
    return dumpTraces(options.dump, out, diags);
  case EtCommand::Stats:
    return printTraceStats(options.stats, out, diags);
  case EtCommand::Verify:
    return verifyTraces(options.verify, out, diags);
  case EtCommand::Diff:
    return diffTraces(options.diff, out, diags);
  case EtCommand::Extract:
    return extractBundle(options.extract, out, diags);
  }
  return ExitStatus::Usage;
}

} // namespace

int main(int argc, char **argv) {
  std::optional<EtOptions> options = parseEtOptions(argc, argv);
  if (!options)
    return static_cast<int>(ExitStatus::Usage);
  SourceManager sources;
  Diagnostics diags(sources);
  llvm::raw_ostream &out = llvm::outs();
  ExitStatus status;
  try {
    status = run(*options, out, diags);
  } catch (const InternalError &error) {
    status = reportInternalError(error, llvm::errs());
  }
  // The verdict of verify comes after the findings; what other commands print comes before what stopped them.
  if (options->command != EtCommand::Verify)
    out.flush();
  printDiagnostics(diags, llvm::errs());
  out.flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "error: cannot write standard output: " << llvm::outs().error().message() << '\n';
    llvm::outs().clear_error();
    status = ExitStatus::Environment;
  }
  return static_cast<int>(status);
}
