//===- SplitProgram.cpp -----------------------------------------------------===//
#include "SplitProgram.h"
#include "SourceDir.h"
#include "stg/Passes/PassManager.h"
#include "stg/Sema/Workload.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Support/InternalError.h"
#include "gtest/gtest.h"
#include <cstdlib>

namespace stg {

namespace {

std::string rendered(const Diagnostics &diags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDiagnostics(diags, os, {.colours = Colours::Never});
  return text;
}

/// The passes up to `differentiate`, and those behind it.
constexpr PassId kWhole[] = {PassId::InferShapes, PassId::Specialise, PassId::Differentiate};
constexpr PassId kSplit[] = {PassId::AssignLayouts, PassId::InsertCollectives, PassId::ChooseAlgorithms,
                             PassId::Quantise,      PassId::Recompute,         PassId::CutStages,
                             PassId::ShardStorage,  PassId::Offload,           PassId::BuildSchedule};

/// Rounding is part of what a program means: without the rules that lay it over ranks, its products read copies too.
constexpr PassId kRounded[] = {PassId::AssignLayouts, PassId::InsertCollectives, PassId::Quantise};

Program onOneDevice(Program program) {
  program.mesh = Mesh();
  program.plan.splits.clear();
  program.plan.keeps.clear();
  program.plan.pins.clear();
  program.plan.keepGathered.clear();
  return program;
}

void compile(const std::string &text, SourceManager &sources, ast::ASTContext &context, Diagnostics &diags,
             SplitProgram &result) {
  ModuleLoader loader{sources, context, diags, {kSourceDir + std::string("/stdlib")}};
  const Module *module = loader.loadBuffer(sources.addBuffer("test.stg", "stg 1\n" + text));
  if (!module)
    return;
  checkDeclarations(*module, sources, diags);
  std::vector<WorkloadSource> workloads = workloadsOf(*module);
  if (!diags.hasErrors() && !workloads.empty())
    result.whole = resolveWorkload(workloads.front(), {}, sources, diags).program;
  if (!result.whole || runPasses(*result.whole, kWhole, diags, nullptr, VerifyPasses::AfterEach) != Outcome::Done)
    return;
  Program split = *result.whole;
  if (!split.plan.gemms.empty()) {
    result.whole = onOneDevice(split);
    if (runPasses(*result.whole, kRounded, diags, nullptr, VerifyPasses::AfterEach) != Outcome::Done)
      return;
  }
  if (runPasses(split, kSplit, diags, nullptr, VerifyPasses::AfterEach) == Outcome::Done)
    result.split = std::move(split);
}

} // namespace

SplitProgram splitProgram(const std::string &text) {
  SourceManager sources;
  ast::ASTContext context;
  Diagnostics diags{sources};
  SplitProgram result;
  try {
    compile(text, sources, context, diags, result);
  } catch (const InternalError &error) {
    result.whole = result.split = std::nullopt;
    result.messages = error.what();
    return result;
  }
  if (diags.hasErrors())
    result.whole = result.split = std::nullopt;
  result.messages = rendered(diags);
  return result;
}
std::optional<interp::RankComparison> expectSame(const std::string &text, uint64_t seed) {
  SplitProgram programs = splitProgram(text);
  if (!programs.split)
    return std::nullopt;
  interp::InterpInputs inputs;
  inputs.seed = seed;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
  EXPECT_EQ(comparison.difference, "") << "seed " << seed << "\n" << text;
  return comparison;
}

uint64_t randomCount(uint64_t fallback) {
  const char *text = std::getenv("STG_COUNT");
  return text ? std::strtoull(text, nullptr, 10) : fallback;
}

} // namespace stg
