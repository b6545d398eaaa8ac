//===- FuzzCheck.cpp - any bytes through parser, modules, checks, elaboration -------===//
// Whatever comes in, the front end ends with messages or with a program that keeps the promises of its level, never
// with a crash, a sanitizer's complaint or an internal error.
//===----------------------------------------------------------------------===//
#include "stg/Passes/PassManager.h"
#include "stg/Sema/Workload.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Support/SourceManager.h"
#include "stg/Syntax/AST.h"

#include <cstddef>
#include <cstdint>

/// Mutation soon finds `repeat 999_999`; what a hundred iterations do not show, more do not either.
static constexpr int64_t kMaxFuzzedUnits = 100;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  // The source manager takes UTF-8 only; what is not is refused before it gets here.
  if (stg::firstInvalidUtf8(text))
    return -1;
  stg::SourceManager sources;
  stg::Diagnostics diags(sources);
  stg::ast::ASTContext context;
  stg::ModuleLoader loader(sources, context, diags, {STG_FUZZ_LIBRARY});
  if (const stg::Module *module = loader.loadBuffer(sources.addBuffer("fuzz.stg", std::move(text)))) {
    checkDeclarations(*module, sources, diags);
    checkPlans(*module, sources, diags);
    checkWorkloads(*module, sources, diags);
    bool faulty = diags.hasErrors();
    for (const stg::WorkloadSource &source : stg::workloadsOf(*module)) {
      stg::ResolvedWorkload resolved = resolveWorkload(source, {}, sources, diags, kMaxFuzzedUnits);
      if (resolved.program && !faulty)
        (void)runPasses(*resolved.program, llvm::ArrayRef(stg::kDefaultPipeline).drop_front(), diags);
    }
  }

  // Rendering must bear any place in any text.
  std::string out;
  llvm::raw_string_ostream os(out);
  printDiagnostics(diags, os, {.colours = stg::Colours::Never});
  printDiagnosticsJson(diags, os);
  return 0;
}
