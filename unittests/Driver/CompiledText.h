//===- CompiledText.h - workloads of tests, through all passes ----------------===//
#ifndef STG_UNITTESTS_DRIVER_COMPILEDTEXT_H
#define STG_UNITTESTS_DRIVER_COMPILEDTEXT_H

#include "SourceDir.h"
#include "stg/Passes/PassManager.h"
#include "stg/Sema/Workload.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "gtest/gtest.h"

namespace stg {

/// The first workload of a text without its line `stg 1`, with the shipped library. What the compiler refuses fails the
/// test.
struct CompiledText {
  explicit CompiledText(const std::string &text) {
    ModuleLoader loader{sources, context, diags, {kSourceDir + std::string("/stdlib")}};
    const Module *module = loader.loadBuffer(sources.addBuffer("test.stg", "stg 1\n" + text));
    std::vector<WorkloadSource> workloads = module ? workloadsOf(*module) : std::vector<WorkloadSource>();
    if (!workloads.empty())
      program = resolveWorkload(workloads.front(), {}, sources, diags).program;
    if (program && runPasses(*program, llvm::ArrayRef(kDefaultPipeline).drop_front(), diags) != Outcome::Done)
      program.reset();
    if (program && !diags.hasErrors())
      return;
    program.reset();
    std::string messages;
    llvm::raw_string_ostream os(messages);
    printDiagnostics(diags, os, {.colours = Colours::Never});
    ADD_FAILURE() << messages << text;
  }

  SourceManager sources;
  ast::ASTContext context;
  Diagnostics diags{sources};
  std::optional<Program> program;
};

} // namespace stg

#endif
