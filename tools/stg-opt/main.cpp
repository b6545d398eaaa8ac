//===- main.cpp - stg-opt: run passes on textual IR --------------------------===//
#include "RunOpt.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Support/InternalError.h"

using namespace stg;

int main(int argc, char **argv) {
  std::optional<OptOptions> options = parseOptOptions(argc, argv);
  if (!options)
    return static_cast<int>(ExitStatus::Usage);
  SourceManager sources;
  Diagnostics diags(sources);
  ExitStatus status;
  try {
    status = runOpt(*options, sources, llvm::outs(), diags);
  } catch (const InternalError &error) {
    status = reportInternalError(error, llvm::errs());
  }
  llvm::outs().flush();
  printDiagnostics(diags, llvm::errs());
  if (llvm::outs().has_error()) {
    llvm::errs() << "error: cannot write standard output: " << llvm::outs().error().message() << '\n';
    llvm::outs().clear_error();
    status = ExitStatus::Environment;
  }
  return static_cast<int>(status);
}
