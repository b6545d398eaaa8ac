//===- main.cpp - stg-mount: a bundle as a folder of files ------------------===//

#include "MountCommand.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Support/InternalError.h"

using namespace stg;

int main(int argc, char **argv) {
  std::optional<MountOptions> options = parseMountOptions(argc, argv);
  if (!options)
    return static_cast<int>(ExitStatus::Usage);
  SourceManager sources;
  Diagnostics diags(sources);
  ExitStatus status;
  try {
    status = mountBundle(*options, diags);
  } catch (const InternalError &error) {
    status = reportInternalError(error, llvm::errs());
  }
  printDiagnostics(diags, llvm::errs());
  return static_cast<int>(status);
}
