//===- FuzzCheck.cpp - any bytes through parser, modules and checks -------===//
// Whatever comes in, the front end ends with messages or without, never with a crash, a sanitizer's complaint or an
// internal error.
//===----------------------------------------------------------------------===//
#include "stg/Sema/Modules.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Support/SourceManager.h"
#include "stg/Syntax/AST.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  // The source manager takes UTF-8 only; what is not is refused before it gets here.
  if (stg::firstInvalidUtf8(text))
    return -1;
  stg::SourceManager sources;
  stg::Diagnostics diags(sources);
  stg::ast::ASTContext context;
  stg::ModuleLoader loader(sources, context, diags, {});
  loader.loadBuffer(sources.addBuffer("fuzz.stg", std::move(text)));

  // Rendering must bear any place in any text.
  std::string out;
  llvm::raw_string_ostream os(out);
  printDiagnostics(diags, os, {.colours = stg::Colours::Never});
  printDiagnosticsJson(diags, os);
  return 0;
}
