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
#include <memory>
#include <optional>

/// Mutation soon finds `repeat 999_999`; what a hundred iterations do not show, more do not either.
static constexpr int64_t kMaxFuzzedUnits = 100;

/// What inputs share: the library's modules, which take longer to parse than an input to check.
struct Library {
  stg::SourceManager sources;
  stg::ast::ASTContext context;
  /// Made anew, in place, for every input.
  std::optional<stg::Diagnostics> diags{std::in_place, sources};
  stg::ModuleLoader loader{sources, context, *diags, {STG_FUZZ_LIBRARY}};
  unsigned inputs = 0;
};
/// Inputs stay in the source manager, so it is given up from time to time.
static constexpr unsigned kMaxInputs = 1'000;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  // The source manager takes UTF-8 only; what is not is refused before it gets here.
  if (stg::firstInvalidUtf8(text))
    return -1;
  static std::unique_ptr<Library> library;
  if (!library || library->inputs == kMaxInputs)
    library = std::make_unique<Library>();
  stg::SourceManager &sources = library->sources;
  stg::Diagnostics &diags = library->diags.emplace(sources);
  std::string name = "fuzz-" + std::to_string(library->inputs++) + ".stg";
  if (const stg::Module *module = library->loader.loadBuffer(sources.addBuffer(name, std::move(text)))) {
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
  // A file that cannot be read is reported once.
  if (diags.exitStatus() == stg::ExitStatus::Environment)
    library.reset();
  return 0;
}
